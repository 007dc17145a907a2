package cassette

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/reading/texts"
	"github.com/compactsim/compactsim/sim/prompt"
)

// blur replaces texts by data that reveal little: rounded sizes, and digests under a key that is made when a folder
// is opened and stored nowhere. The files do not allow anybody to test guesses against a digest.
type blur struct{ key [32]byte }

func newBlur() (b blur) {
	rand.Read(b.key[:]) // never fails
	return b
}

// digest returns the keyed digest of a text.
func (b *blur) digest(text string) prompt.Digest {
	h := hmac.New(sha256.New, b.key[:])
	_, _ = io.WriteString(h, text)
	sum := h.Sum(nil)
	return prompt.Digest{Hi: binary.BigEndian.Uint64(sum), Lo: binary.BigEndian.Uint64(sum[8:])}
}

// step returns a size in bytes rounded up: to 64, then to a sixteenth of the power of two below.
func step(n int) int {
	if n <= 0 {
		return 0
	}
	to := max(64, 1<<(bits.Len(uint(n))-1)/16)
	return (n + to - 1) / to * to
}

// part is a stretch of a withheld text: kept because it reveals nothing, or replaced by a rounded size and a keyed
// digest.
type part struct {
	Kept   string        `json:"kept,omitzero"`
	Bytes  int           `json:"bytes,omitzero"`
	Digest prompt.Digest `json:"digest,omitzero"`
}

// withheld replaces the texts of an answer.
type withheld struct {
	Text       []part `json:"text,omitempty"`
	Compaction []part `json:"compaction,omitempty"`
	Message    []part `json:"message,omitempty"` // of a failure
}

// marks are the tags around the parts of a summary, in any case. They decide
// which part of an answer enters the context, so they are never withheld.
var marks = [...]string{AnalysisOpen, AnalysisClose, SummaryOpen, SummaryClose}

// The tags around the parts of a summary.
const (
	AnalysisOpen  = "<analysis>"
	AnalysisClose = "</analysis>"
	SummaryOpen   = "<summary>"
	SummaryClose  = "</summary>"
)

const white = " \t\r\n"

// withhold divides a text into parts. Marks and white space at the ends of a stretch are kept.
func (b *blur) withhold(text string, keep []string) []part {
	var list []part
	kept := func(s string) {
		if n := len(list); n > 0 && list[n-1].Kept != "" {
			list[n-1].Kept += s
		} else if s != "" {
			list = append(list, part{Kept: s})
		}
	}
	lower := Lowered(text)
	small := make([]string, len(keep))
	for i, k := range keep {
		small[i] = Lowered(k)
	}
	for text != "" {
		at, size := nextMark(lower, small)
		stretch := text[:at]
		rest := strings.TrimLeft(stretch, white)
		inside := strings.TrimRight(rest, white)
		kept(stretch[:len(stretch)-len(rest)])
		if inside != "" {
			list = append(list, part{Bytes: step(len(inside)), Digest: b.digest(inside)})
		}
		kept(rest[len(inside):])
		kept(text[at : at+size])
		text, lower = text[at+size:], lower[at+size:]
	}
	return list
}

// nextMark returns the place and size of the first, then longest, of marks and
// keep in a text, all in lower case; the end of the text if there is none.
func nextMark(lower string, keep []string) (at, size int) {
	at = len(lower)
	for _, list := range [][]string{marks[:], keep} {
		for _, m := range list {
			if m == "" {
				continue
			}
			if i := strings.Index(lower[:min(at+len(m), len(lower))], m); i >= 0 && (i < at || i == at && len(m) > size) {
				at, size = i, len(m)
			}
		}
	}
	return at, size
}

// Lowered returns a text with its ASCII letters in lower case, of the same length.
func Lowered(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// refill returns a text of about the sizes that withhold left, with filler for the missing parts.
func refill(list []part) (string, error) {
	n := 0
	for _, p := range list {
		if p.Bytes < 0 || p.Bytes > texts.MaxFiller {
			return "", fmt.Errorf("%d bytes of withheld text are out of range", p.Bytes)
		}
		if n += len(p.Kept) + p.Bytes; n > texts.MaxFiller {
			return "", fmt.Errorf("more than %d bytes of withheld text", texts.MaxFiller)
		}
	}
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.Kept)
		b.WriteString(texts.Filler(p.Digest, p.Bytes, "text that the cassette does not keep"))
	}
	return b.String(), nil
}

// maxParam is the longest parameter that a redacted cassette keeps, bytes: longer ones may be somebody's words.
const maxParam = 120

const withheldParam = "(withheld) "

// redactParams returns the parameters of a call in the form of a redacted cassette.
func redactParams(params []string) []string {
	params = slices.Clone(params)
	for i, p := range params {
		if len(p) > maxParam {
			params[i] = fmt.Sprintf("%sparameter of up to %d B", withheldParam, step(len(p)))
		}
	}
	return params
}

// hidesParams reports whether a parameter was withheld, so that the key cannot be recomputed.
func (c Call) hidesParams() bool {
	return slices.ContainsFunc(c.Params, func(p string) bool { return strings.HasPrefix(p, withheldParam) })
}

// redact removes the texts from a file and keeps their sizes.
func (f *form) redact(b *blur, keep []string) {
	f.Texts = false
	f.Call.Params = redactParams(f.Call.Params)
	var w withheld
	if f.Reply != nil {
		r := *f.Reply
		w.Text, w.Compaction = b.withhold(r.Text, keep), b.withhold(r.Compaction, keep)
		r.Text, r.Compaction = "", ""
		r.ToolCalls = slices.Clone(r.ToolCalls)
		for i, name := range r.ToolCalls {
			r.ToolCalls[i] = fmt.Sprintf("tool %d B %016x", step(len(name)), b.digest(name).Hi)
		}
		f.Reply = &r
	}
	if f.Failure != nil {
		e := *f.Failure
		w.Message = b.withhold(e.Message, nil)
		e.Message = ""
		f.Failure = &e
	}
	f.Withheld = &w
}

// restore puts filler where texts were removed.
func (w *withheld) restore(c *Cassette) (err error) {
	fill := func(to *string, list []part) {
		if err == nil && len(list) > 0 {
			*to, err = refill(list)
		}
	}
	if c.Reply != nil {
		r := *c.Reply
		fill(&r.Text, w.Text)
		fill(&r.Compaction, w.Compaction)
		c.Reply = &r
	}
	if c.Failure != nil {
		e := *c.Failure
		fill(&e.Message, w.Message)
		c.Failure = &e
	}
	return err
}
