package synthetic

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

// The filler is written for this package: few templates and few words, so that
// transcripts compress well.
var (
	//go:embed filler/code.txt
	codeText string
	//go:embed filler/prose.txt
	proseText string
	//go:embed filler/prompts.txt
	promptText string
	//go:embed filler/shell.txt
	shellText string
	//go:embed filler/words.txt
	wordText string

	nouns, verbs = wordLists()
	functions    = strings.SplitAfter(codeText, "\n\n")
	sentences    = strings.Split(strings.TrimSpace(proseText), "\n")
	requests     = strings.Split(strings.TrimSpace(promptText), "\n")
	shellLines   = strings.SplitAfter(shellText, "\n")
)

func wordLists() (nouns, verbs []string) {
	first, second, _ := strings.Cut(wordText, "\n\n")
	return strings.Fields(first), strings.Fields(second)
}

// manner is a way to write n bytes of text; id keeps one text from another.
type manner func(d dice, id uint64, n int) string

func prose(d dice, id uint64, n int) string   { return newFiller(d, id, n).pieces(sentences, " ", n) }
func request(d dice, id uint64, n int) string { return newFiller(d, id, n).pieces(requests, " ", n) }
func shell(d dice, id uint64, n int) string   { return newFiller(d, id, n).pieces(shellLines, "", n) }

// code returns n bytes of source. Each template keeps to one verb, so that the
// same text comes back within a compressor's window.
func code(d dice, id uint64, n int) string {
	f := newFiller(d, id, n)
	for f.Len() < n {
		noun := nouns[f.below(len(nouns))]
		j := f.below(len(functions))
		f.fill(functions[j], noun, verbs[j%len(verbs)])
	}
	return f.String()[:n]
}

// filler writes text: one stream of draws for one block.
type filler struct {
	strings.Builder
	dice dice
	id   uint64
	step uint64
}

func newFiller(d dice, id uint64, size int) *filler {
	f := &filler{dice: d, id: id}
	f.Grow(size + 512)
	return f
}

func (f *filler) below(n int) int {
	f.step++
	return f.dice.below(forWords, mix(f.id)+f.step, n)
}

// pieces writes templates drawn from a list, each followed by sep, until there
// are n bytes, and returns exactly the first n.
func (f *filler) pieces(list []string, sep string, n int) string {
	noun := nouns[f.below(len(nouns))]
	for f.Len() < n {
		if f.below(4) == 0 {
			noun = nouns[f.below(len(nouns))]
		}
		j := f.below(len(list))
		f.fill(list[j], noun, verbs[j%len(verbs)])
		f.WriteString(sep)
	}
	return f.String()[:n]
}

// fill writes a template: $N and $n become a noun, $V and $v a verb, # a digit.
func (f *filler) fill(template, noun, verb string) {
	for i := 0; i < len(template); i++ {
		c := template[i]
		if c == '#' {
			f.WriteString(strconv.Itoa(1 + f.below(9)))
			continue
		}
		if c != '$' || i+1 == len(template) {
			f.WriteByte(c)
			continue
		}
		i++
		switch template[i] {
		case 'N':
			f.WriteString(strings.ToUpper(noun[:1]) + noun[1:])
		case 'n':
			f.WriteString(noun)
		case 'V':
			f.WriteString(strings.ToUpper(verb[:1]) + verb[1:])
		case 'v':
			f.WriteString(verb)
		}
	}
}

// exactly returns the text of a block in a manner, of exactly the block's
// length. It begins with the block's number in the session: few templates would
// make short texts alike.
func exactly(b *prompt.Block, text manner) string {
	tag := "#" + strconv.FormatUint(b.Digest.Lo&numberMask, 36) + " "
	return padded(tag+text(dice(b.Digest.Hi), b.Digest.Lo, int(b.Bytes)), int(b.Bytes))
}

// plain returns n bytes that JSON writes as they are.
func plain(b *prompt.Block, n int) string {
	text := prose(dice(b.Digest.Hi), b.Digest.Lo, max(0, n))
	return strings.NewReplacer(`"`, "'", `\`, "/").Replace(text)
}

// fileText returns the text of a file that was read: the same for the same
// range of the same file.
func fileText(path string, b *prompt.Block) string {
	d := prompt.DigestString(path).ExtendInt(uint64(b.RangeFrom))
	return code(dice(d.Hi), d.Lo, int(b.Bytes))
}

// errorText returns the result of a call that failed.
func errorText(b *prompt.Block) string {
	const open, end = "<tool_use_error>", "</tool_use_error>"
	return open + padded("The call failed. ", int(b.Bytes)-len(open)-len(end)) + end
}

// imageText returns letters in place of an image. They begin with a number of the
// block, so that no two images are alike.
func imageText(b *prompt.Block) string {
	return padded(fmt.Sprintf("iVBORw0KGgo%016x", b.Digest.Hi)+strings.Repeat("A", int(b.Bytes)), int(b.Bytes))
}

func padded(text string, n int) string {
	if len(text) < n {
		text += strings.Repeat(".", n-len(text))
	}
	return text[:n]
}
