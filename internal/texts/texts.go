// Package texts reads the text behind the blocks of a session again, on demand:
// a session keeps of every block where its line stands and the digest of its
// content, never the text itself.
package texts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/agents/claudecode"
	"github.com/compactsim/compactsim/internal/agents/codex"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// What Content.Media stands for.
const (
	MediaImage    = "image"
	MediaDocument = "document"
)

// Content is what a block says. Texts are valid UTF-8: bytes of the recording
// that are not become U+FFFD.
type Content struct {
	// Text of everything but a tool call. Parts of a result or a message are
	// taken together as they follow each other.
	Text string
	// Name of the tool, of a tool call and of its result.
	Name string
	// Input of a tool call: a JSON object. What the recording has as another
	// value or as text is the member "input" of one.
	Input jsontext.Value
	Error bool // the tool call failed
	// Media is MediaImage or MediaDocument when the block is one, or is a
	// result with images beside its text. What they show is left out.
	Media string
	// Filler says that Text or Input is made up to the block's size, because
	// no line shows the real one.
	Filler bool
}

// Reader reads the texts of one session. It holds the lines it last came past,
// at most cacheBytes of them, and goes forward through a file when it can:
// asking for blocks in the session's order costs about what parsing does, going
// back further than the lines held starts the file again. It is not safe for
// concurrent use; a session may have any number of readers.
type Reader struct {
	ctx    context.Context
	corpus *traces.Corpus
	s      *traces.Session
	decode func(*line)
	files  []file // by index into s.Files
	open   []*file
	cache  cache
	last   line // the line decoded last
	closed bool
}

// maxOpen is how many files of a session are open at the same time: those of a
// few threads that are asked for in turns.
const maxOpen = 8

// Open returns a reader of the texts of a session of the corpus. Reading ends
// with ctx. Files are opened when they are first needed. It is an error when the
// session has lines in a format that is not known.
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
	switch s.Agent {
	case claudecode.Agent:
		r.decode = decodeClaudeCode
	case codex.Agent:
		r.decode = decodeCodex
	default:
		if lines > 0 {
			return nil, fmt.Errorf("texts: session %s: no reader for the texts of agent %q", s.ID, s.Agent)
		}
	}
	return r, nil
}

// Close closes the files that are open. Block fails from then on.
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
// file and line, when the file cannot be read or no longer says what the session
// was read from.
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
	if r.last.file != f || r.last.number != b.Line {
		if err := r.load(f, b.Line, b.Place); err != nil {
			return Content{}, fmt.Errorf("texts: %s: %w", traces.Problem{File: f.name, Line: int(b.Line), Text: "text cannot be read"}, err)
		}
	}
	p, ok := r.last.found(i)
	if !ok {
		return Content{}, fmt.Errorf("texts: %s", traces.Problem{File: f.name, Line: int(b.Line), Text: fmt.Sprintf(
			"the %s that was read here is gone: the file has changed since; read the sessions again", b.Kind)})
	}
	return r.content(b, p), nil
}

// content makes the content of a block from what was found on its line.
func (r *Reader) content(b *prompt.Block, p piece) Content {
	c := r.frame(b)
	switch {
	case p.withheld:
		r.fill(&c, b)
	case b.Kind == prompt.KindToolUse:
		c.Input = object(p.text, p.quoted)
	default:
		c.Text = strings.ToValidUTF8(p.text, "\uFFFD")
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
