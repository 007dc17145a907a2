package texts

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// MaxFiller is the longest filler, bytes: far above any context window, so that
// an impossible count does not exhaust the memory.
const MaxFiller = 16 << 20

// sizeOf returns the size of the text that replaces a block, bytes: the block's
// own, else the size for which the estimate gives its tokens.
func sizeOf(b *prompt.Block) int {
	if b.Bytes > 0 {
		return min(int(b.Bytes), MaxFiller)
	}
	rates := traces.DefaultRates()
	n := math.Round((float64(b.Tokens) - rates.Fixed[b.Kind]) / rates.PerByte[b.Kind])
	return int(min(max(0, n), MaxFiller))
}

// words are the words of filler: 64 words, so that six bits choose one.
var words = strings.Fields(`
	a after again all and any at back before both buffer by call check close count data each end entry error every
	field file first for from given group if in index into is key last length line list loop map name next node of
	on once open or order other part path read same set size some step text then value while with`)

// Filler returns n bytes of text that replace missing content. The text begins
// by saying that it is filler, and for what. It is a function of its arguments,
// and after the first words of the digest alone. At most MaxFiller bytes are
// returned, none for a negative n.
func Filler(d prompt.Digest, n int, what string) string {
	n = min(max(0, n), MaxFiller)
	text := make([]byte, 0, n+16)
	text = append(text, "[filler for "...)
	text = append(text, strings.ToValidUTF8(what, "\uFFFD")...)
	text = append(text, ']')
	for i := uint64(0); len(text) < n; i++ {
		draw := d.ExtendInt(i).Lo
		for range 10 {
			text = append(append(text, ' '), words[draw&63]...)
			draw >>= 6
		}
	}
	return string(cut(text, n))
}

// cut shortens text to n bytes. Points replace a divided character, and a space
// at the end, so that trimming removes nothing.
func cut(text []byte, n int) []byte {
	end := n
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	text = text[:end]
	for len(text) < n {
		text = append(text, '.')
	}
	if n > 0 && text[n-1] == ' ' {
		text[n-1] = '.'
	}
	return text
}

// fillerInput returns a JSON object of n bytes, or more if it needs them, that
// replaces the input of a tool call on a path.
func fillerInput(d prompt.Digest, n int, path string) jsontext.Value {
	v := []byte(`{`)
	if path != "" {
		quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(path, "\uFFFD"))
		if err == nil {
			v = append(append(append(v, `"file_path":`...), quoted...), ',')
		}
	}
	const open, end = `"filler":"`, `"}`
	v = append(v, open...)
	if room := n - len(v) - len(end); room > 0 {
		v = append(v, Filler(d, room, "a tool call")...)
	}
	return append(v, end...)
}
