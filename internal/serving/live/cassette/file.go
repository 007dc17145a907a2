package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/internal/serving/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// version is the version of the files, the only one that is written and read.
const version = 2

// form is a cassette in the form of its file.
type form struct {
	Version  int `json:"version"`
	Key      Key `json:"key"`
	Cassette `json:",embed"`
	Withheld *withheld `json:"withheld,omitzero"`
	Sum      string    `json:"sum"` // see sum
}

// usage is a prompt.Usage in the form of files.
type usage struct {
	Uncached   int64 `json:"uncached,omitzero"`
	Read       int64 `json:"read,omitzero"`
	Write5m    int64 `json:"write_5m,omitzero"`
	Write1h    int64 `json:"write_1h,omitzero"`
	WriteOther int64 `json:"write_other,omitzero"`
	Output     int64 `json:"output,omitzero"`
}

// values defines the form of values without JSON of their own: digests as keys, times in nanoseconds.
var values = json.JoinOptions(
	json.WithMarshalers(json.JoinMarshalers(
		json.MarshalToFunc(func(e *jsontext.Encoder, d prompt.Digest) error { return json.MarshalEncode(e, keyOf(d)) }),
		json.MarshalToFunc(func(e *jsontext.Encoder, d time.Duration) error { return json.MarshalEncode(e, int64(d)) }),
		json.MarshalToFunc(func(e *jsontext.Encoder, u prompt.Usage) error { return json.MarshalEncode(e, usage(u)) }),
	)),
	json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, to *prompt.Digest) error {
			var k Key
			err := json.UnmarshalDecode(d, &k)
			*to = prompt.Digest{Hi: binary.BigEndian.Uint64(k[:8]), Lo: binary.BigEndian.Uint64(k[8:])}
			return err
		}),
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, to *time.Duration) error {
			return json.UnmarshalDecode(d, (*int64)(to))
		}),
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, to *prompt.Usage) error {
			var u usage
			err := json.UnmarshalDecode(d, &u)
			*to = prompt.Usage(u)
			return err
		}),
	)),
)

// formOf returns the file of a cassette with all its texts.
func formOf(c *Cassette) *form {
	f := &form{Version: version, Key: c.Call.Key(), Cassette: *c}
	f.Began, f.Texts = c.Began.UTC(), true
	return f
}

// cassette returns the cassette of a file named by a key, or what is wrong with it.
func (f *form) cassette(k Key) (*Cassette, error) {
	if f.Key != k {
		return nil, fmt.Errorf("it holds the call %s and not the one it is named by: give it its name back, or delete it",
			f.Key)
	}
	c := f.Cassette
	err := f.check()
	if err == nil && f.Withheld != nil {
		err = f.Withheld.restore(&c)
	}
	if err == nil {
		var sum string
		if sum, err = f.sum(); err == nil && sum != f.Sum {
			err = fmt.Errorf("its answer is not the one that was stored (its sum is %.12s… and not %.12q)", sum, f.Sum)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, remedy)
	}
	return &c, nil
}

// check returns why the file holds no recorded call.
func (f *form) check() error {
	switch {
	case (f.Reply == nil) == (f.Failure == nil):
		return errors.New("it must have either a reply or a failure")
	case f.Texts == (f.Withheld != nil):
		return errors.New("texts must be there or be withheld")
	case !f.Call.hidesParams() && f.Call.Key() != f.Key:
		return fmt.Errorf("its key is not that of its call, %s", f.Call.Key())
	}
	back := struct {
		reply   *wire.Reply
		failure *wire.Failure
	}{f.Reply, f.Failure}
	if n := least(reflect.ValueOf(back)); n < 0 {
		return fmt.Errorf("a count or time is negative: %d", n)
	}
	return nil
}

// least returns the smallest number in a value, 0 at most.
func least(v reflect.Value) (n int64) {
	switch {
	case v.CanInt():
		return min(v.Int(), 0)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return least(v.Elem())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			n = min(n, least(v.Index(i)))
		}
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			n = min(n, least(v.Field(i)))
		}
	}
	return n
}

// remedy says what to do about a file that cannot be read.
const remedy = "delete it and record the call again"

// encode returns the bytes of a file.
func (f *form) encode() ([]byte, error) {
	var err error
	if f.Sum, err = f.sum(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(f, values, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// decode reads a file. The errors say what is wrong and what to do.
func decode(b []byte) (*form, error) {
	var f form
	err := json.Unmarshal(b, &f, values, json.RejectUnknownMembers(true))
	if err == nil && f.Version == version {
		return &f, nil
	}
	var head struct {
		Version int `json:"version"`
	}
	known := json.Unmarshal(b, &head) == nil
	switch v := head.Version; {
	case known && v > version:
		return nil, fmt.Errorf("it has version %d of the format and %d is read: use a newer sim, or %s", v, version, remedy)
	case known && v != version:
		return nil, fmt.Errorf("it has version %d of the format and %d is read: %s", v, version, remedy)
	case errors.Is(err, io.ErrUnexpectedEOF), len(bytes.TrimSpace(b)) == 0:
		return nil, errors.New("it is cut off: " + remedy)
	}
	return nil, fmt.Errorf("it is damaged (%w): %s", err, remedy)
}

// maxFile is the largest file that is read, bytes: a cassette has some kilobytes.
const maxFile = 64 << 20

// read reads the cassette that a file has under a key.
func read(path string, k Key) (*Cassette, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: move it away", files.Regular(path, info))
	case info.Size() > maxFile:
		return nil, fmt.Errorf("it has %d bytes, and a cassette at most %d: %s", info.Size(), maxFile, remedy)
	}
	b, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	got, err := decode(b)
	if err != nil {
		return nil, err
	}
	return got.cassette(k)
}

// sum returns the SHA-256 of the call and its answer: a summary changed by hand would give figures that nobody paid
// for. It covers the members, not the bytes of the file, whose line ends a repository may change. Texts are hashed unchanged,
// because encoding them as JSON takes as long as reading the file.
func (f *form) sum() (string, error) {
	h := sha256.New()
	bare := *f
	var texts []string
	if f.Reply != nil {
		r := *f.Reply
		texts = append(texts, r.Text, r.Compaction)
		r.Text, r.Compaction = "", ""
		bare.Reply = &r
	}
	b, err := json.Marshal([]any{bare.Call, bare.Began, bare.Texts, bare.Reply, bare.Failure, bare.Withheld}, values,
		json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return "", err
	}
	sumText(h, string(b))
	for _, t := range texts {
		sumText(h, t)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sumText adds a text with its length, so that different lists of texts differ;
// invalid UTF-8 counts in the form that the file has.
func sumText(h hash.Hash, text string) {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(text)))
	h.Write(size[:])
	_, _ = io.WriteString(h, text) // a hash takes all
}
