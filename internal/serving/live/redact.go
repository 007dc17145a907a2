package live

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math/bits"
	"regexp"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/internal/reading/texts"
	"github.com/compactsim/compactsim/sim/prompt"
)

// withhold replaces the texts of an answer by filler of about their size. What stays reveals nothing: the tags that
// decide which part of an answer enters the context, and the titles that the instruction asks for.
func (r *Record) withhold() {
	if r.Reply != nil {
		reply := *r.Reply
		reply.Text, reply.Compaction = withheld(reply.Text), withheld(reply.Compaction)
		reply.ToolCalls = make([]string, len(r.Reply.ToolCalls))
		for i, name := range r.Reply.ToolCalls {
			reply.ToolCalls[i] = fmt.Sprintf("tool of %d B", step(len(name)))
		}
		r.Reply = &reply
	}
	if r.Failure != nil {
		f := *r.Failure
		f.Message = ""
		r.Failure = &f
	}
}

// step returns a size in bytes rounded up: to 64, then to a sixteenth of the power of two below.
func step(n int) int {
	if n <= 0 {
		return 0
	}
	to := max(64, 1<<(bits.Len(uint(n))-1)/16)
	return (n + to - 1) / to * to
}

// The tags around the parts of a summary.
const (
	analysisOpen  = "<analysis>"
	analysisClose = "</analysis>"
	summaryOpen   = "<summary>"
	summaryClose  = "</summary>"
)

const white = " \t\r\n"

// withheld returns a text with filler in place of everything but tags, titles and the white space beside them. Filler
// is drawn at random, so that nobody can try texts against it.
func withheld(text words) words {
	var b strings.Builder
	from := 0
	for _, kept := range append(keptText().FindAllStringIndex(string(text), -1), []int{len(text), len(text)}) {
		stretch := string(text[from:kept[0]])
		rest := strings.TrimLeft(stretch, white)
		inside := strings.TrimRight(rest, white)
		b.WriteString(stretch[:len(stretch)-len(rest)])
		if inside != "" {
			var seed [16]byte
			rand.Read(seed[:]) // never fails
			d := prompt.Digest{Hi: binary.BigEndian.Uint64(seed[:8]), Lo: binary.BigEndian.Uint64(seed[8:])}
			b.WriteString(texts.Filler(d, step(len(inside)), "text that the record does not keep"))
		}
		b.WriteString(rest[len(inside):] + string(text[kept[0]:kept[1]]))
		from = kept[1]
	}
	return words(b.String())
}

// keptText matches what stays of a text that is withheld, the longest where several begin.
var keptText = sync.OnceValue(func() *regexp.Regexp {
	keep := append(titles(), analysisOpen, analysisClose, summaryOpen, summaryClose)
	for i := range keep {
		keep[i] = regexp.QuoteMeta(keep[i])
	}
	re := regexp.MustCompile("(?i)" + strings.Join(keep, "|"))
	re.Longest()
	return re
})

// lowered returns a text with its ASCII letters in lower case, of the same length.
func lowered(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
