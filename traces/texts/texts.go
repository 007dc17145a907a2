// Package texts rereads the text of a session's blocks on demand: a session
// keeps the line and the content digest of every block, never the text itself.
package texts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/go-json-experiment/json/jsontext"
)

// The values of Content.Media.
const (
	MediaImage    = "image"
	MediaDocument = "document"
)

// Content is what a block says. Texts are valid UTF-8: bytes of the recording
// that are not become U+FFFD.
type Content struct {
	// Text is the text of everything but a tool call. Parts of a result or a message
	// are joined in order.
	Text string
	// Name of the tool, of a tool call and of its result.
	Name string
	// Input is the input of a tool call: a JSON object. Another value or text in the
	// recording becomes its member "input".
	Input jsontext.Value
	Error bool // the tool call failed
	// Media is MediaImage or MediaDocument if the block is one, or is a result with
	// images beside its text. Their content is left out.
	Media string
	// Filler says that Text or Input is made up to the block's size, because no
	// line shows the real text.
	Filler bool
}

// Reader reads the texts of one session. It holds the last lines it passed, at
// most cacheBytes, and reads a file forward when it can: reading blocks
// in the session's order costs about as much as parsing, going back beyond the
// held lines starts the file again. It is not safe for concurrent use; a
// session may have any number of readers.
type Reader struct {
	ctx    context.Context
	corpus *traces.Corpus
	s      *traces.Session
	agent  *facts.Agent
	files  []file // by index into s.Files
	open   []*file
	cache  cache
	last   line // the line decoded last
	closed bool
}

// maxOpen is how many files of a session are open at the same time: the files of a few threads
// that are read in turns.
const maxOpen = 8

// Open returns a reader of the texts of a session of the corpus. Reading ends
// with ctx. Files are opened when they are first needed. It is an error if the
// session has lines in an unknown format.
func Open(ctx context.Context, corpus *traces.Corpus, s *traces.Session) (*Reader, error) {
	r := &Reader{ctx: ctx, corpus: corpus, s: s, files: make([]file, len(s.Files)), cache: cache{limit: cacheBytes}}
	for i, name := range s.Files {
		r.files[i].name = name
	}
	lines := 0
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.Line <= 0 {
			continue
		}
		if int(b.File) >= len(r.files) {
			return nil, fmt.Errorf("texts: session %s: block %d is in file %d of %d", s.ID, i, b.File, len(r.files))
		}
		f := &r.files[b.File]
		f.wants = append(f.wants, want{b.Line, int32(i)})
		lines++
	}
	for i := range r.files {
		r.files[i].sort()
	}
	if r.agent = agents.Of(s.Agent); r.agent.Name != s.Agent && lines > 0 {
		return nil, fmt.Errorf("texts: session %s: no reader for the texts of agent %q", s.ID, s.Agent)
	}
	return r, nil
}

// Close closes the open files. Block then fails.
func (r *Reader) Close() error {
	r.closed = true
	var errs []error
	for _, f := range r.open {
		errs = append(errs, f.close())
	}
	r.open = nil
	return errors.Join(errs...)
}

// Block returns the content of the block with an index in Session.Blocks. A
// block that no line shows gets filler of its size. It is an error, which names
// file and line, if the file cannot be read or has changed since the session
// was read.
func (r *Reader) Block(i int32) (Content, error) {
	switch {
	case r.closed:
		return Content{}, errors.New("texts: the reader is closed")
	case i < 0 || int(i) >= len(r.s.Blocks):
		return Content{}, fmt.Errorf("texts: session %s has no block %d", r.s.ID, i)
	}
	b := &r.s.Blocks[i]
	if b.Line <= 0 {
		return r.filler(b), nil
	}
	f := &r.files[b.File]
	if r.last.file != f || r.last.number != b.Line && r.byLine() {
		if err := r.load(f, b.Line, b.Place); err != nil {
			p := traces.Problem{File: f.name, Line: int(b.Line), Text: "text cannot be read"}
			return Content{}, fmt.Errorf("texts: %s: %w", p.String(), err)
		}
	}
	p := r.last.text(i)
	if p == nil {
		gone := traces.Problem{File: f.name, Line: int(b.Line), Text: fmt.Sprintf(
			"the %s that was read here is gone: the file has changed since; read the sessions again", b.Kind)}
		return Content{}, errors.New("texts: " + gone.String())
	}
	return r.content(b, p), nil
}

// content makes the content of a block from what was found on its line.
func (r *Reader) content(b *prompt.Block, p *traces.Text) Content {
	c := r.frame(b)
	switch {
	case p.Withheld:
		r.fill(&c, b)
	case b.Kind == prompt.KindToolUse:
		c.Input = Input(p.Text, p.Quoted)
	default:
		c.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
	}
	return c
}

// frame is the content of a block without its text.
func (r *Reader) frame(b *prompt.Block) Content {
	var c Content
	switch b.Kind {
	case prompt.KindToolUse, prompt.KindToolResult:
		if int(b.Tool) < len(r.s.Tools) {
			c.Name = r.s.Tools[b.Tool]
		}
		c.Error = b.Flags&prompt.FlagError != 0
	case prompt.KindDocument:
		c.Media = MediaDocument
	}
	if b.Flags&prompt.FlagImage != 0 || b.Kind == prompt.KindImage {
		c.Media = MediaImage
	}
	return c
}

// filler makes the content of a block that no line shows.
func (r *Reader) filler(b *prompt.Block) Content {
	c := r.frame(b)
	r.fill(&c, b)
	return c
}

// fill gives c made-up text of the block's size.
func (r *Reader) fill(c *Content, b *prompt.Block) {
	c.Filler = true
	path := ""
	if b.Object >= 0 && int(b.Object) < len(r.s.Objects) {
		path = r.s.Objects[b.Object]
	}
	switch b.Kind {
	case prompt.KindImage, prompt.KindDocument:
	case prompt.KindToolUse:
		c.Input = fillerInput(b.Digest, sizeOf(b), path)
	default:
		what := b.Kind.String()
		if path != "" {
			what += " of " + path
		}
		c.Text = Filler(b.Digest, sizeOf(b), what)
	}
}

// line is a decoded line or document: the blocks it must have, and what was found in it.
type line struct {
	file   *file
	number int32
	wants  []want
	found  []*traces.Text // by wants, nil if not found
}

// decode takes what a line says of the blocks that are on it.
func (l *line) decode(f *file, number int32, wants []want, s *traces.Session, texts []traces.Text) {
	l.file, l.number, l.wants = f, number, wants
	l.found = append(l.found[:0], make([]*traces.Text, len(wants))...)
	of := make(map[prompt.Digest]*traces.Text, len(texts))
	for i := len(texts) - 1; i >= 0; i-- {
		of[texts[i].Digest] = &texts[i]
	}
	for k, w := range wants {
		l.found[k] = of[s.Blocks[w.block].Digest]
	}
}

// text returns what the line says of a block, nil for nothing.
func (l *line) text(block int32) *traces.Text {
	for k := range l.wants {
		if l.wants[k].block == block {
			return l.found[k]
		}
	}
	return nil
}

// Input returns a tool call's input in the form of Content.Input, given traces.Text's form.
func Input(input string, quoted bool) jsontext.Value {
	v := jsontext.Value(input)
	switch {
	case v.IsValid() && v.Kind() == '{':
		return v
	case v.IsValid() && v.Kind() == 'n' || len(bytes.TrimSpace(v)) == 0:
		return jsontext.Value(`{}`)
	case quoted || !v.IsValid():
		text, err := jsontext.AppendQuote(nil, input)
		if err != nil { // not UTF-8: the invalid bytes are replaced
			text, _ = jsontext.AppendQuote(nil, bytes.ToValidUTF8(v, []byte("\uFFFD")))
		}
		v = text
	}
	return append(append(jsontext.Value(`{"input":`), v...), '}')
}

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
