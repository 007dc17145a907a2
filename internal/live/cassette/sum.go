package cassette

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sumMark stands ahead of a sum and tells how it is taken: what changes that has
// to change the mark, and to read sums of this one.
const sumMark = "1:"

// sum returns the SHA-256 of what came back, as text: another summary in the
// file would give other figures than those that were paid for. It is taken of
// the members and not of the bytes of the file, whose ends of lines may change on
// their way through a repository. The texts are nearly all of it, and go in as they
// are: to write them as JSON takes as long as to read the file.
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
	b, err := json.Marshal([]any{bare.Texts, bare.Reply, bare.Failure, bare.Withheld, bare.Predicted}, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return "", err
	}
	sumText(h, string(b))
	for _, t := range texts {
		sumText(h, t)
	}
	for i := range f.Entities {
		e := &f.Entities[i]
		sumText(h, e.Kind)
		sumText(h, e.Text)
		sumText(h, fmt.Sprint(e.Kept))
	}
	return sumMark + hex.EncodeToString(h.Sum(nil)), nil
}

// sumText adds a text with its length, so that no two lists of texts are one. Bytes
// that are no UTF-8 count as what the file has for each of them.
func sumText(h hash.Hash, text string) {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(text)))
	h.Write(size[:])
	_, _ = io.WriteString(h, text) // a hash takes all
}

// checkSum tells whether the answer is the one that was stored. Files of programs
// that did not sum have none.
func (f *form) checkSum() error {
	if f.Sum == "" {
		return nil
	}
	switch s, err := f.sum(); {
	case err != nil:
		return err
	case s != f.Sum:
		return fmt.Errorf("its answer is not the one that was stored (its sum is %.14s… and not %.14s…)", s, f.Sum)
	}
	return nil
}
