package synthetic

import (
	_ "embed"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The filler is written for this package: few templates and few words, so that
// samples compress well.
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
)

var (
	nouns      = wordList(0)
	verbs      = wordList(1)
	functions  = strings.SplitAfter(codeText, "\n\n")
	sentences  = strings.Split(strings.TrimSpace(proseText), "\n")
	requests   = strings.Split(strings.TrimSpace(promptText), "\n")
	shellLines = strings.SplitAfter(shellText, "\n")
)

func wordList(section int) []string {
	return strings.Fields(strings.Split(wordText, "\n\n")[section])
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
			f.WriteString(capital(noun))
		case 'n':
			f.WriteString(noun)
		case 'V':
			f.WriteString(capital(verb))
		case 'v':
			f.WriteString(verb)
		}
	}
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
	return cut(f.String(), n)
}

// prose returns n bytes of sentences.
func prose(d dice, id uint64, n int) string {
	return newFiller(d, id, n).pieces(sentences, " ", n)
}

// request returns n bytes of a person's prompt.
func request(d dice, id uint64, n int) string {
	return newFiller(d, id, n).pieces(requests, " ", n)
}

// shell returns n bytes of a command's output.
func shell(d dice, id uint64, n int) string {
	return newFiller(d, id, n).pieces(shellLines, "", n)
}

// code returns n bytes of source that stands in no file of the working set.
func code(d dice, id uint64, n int) string {
	f := newFiller(d, id, n)
	for f.Len() < n {
		f.function(nouns[f.below(len(nouns))])
	}
	return cut(f.String(), n)
}

// function writes one function about a noun. Each template keeps to one verb,
// so that the same text comes back within the compressor's window.
func (f *filler) function(noun string) {
	j := f.below(len(functions))
	f.fill(functions[j], noun, verbs[j%len(verbs)])
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// cut returns the first n bytes of s, or one to three fewer where the limit
// falls into a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
