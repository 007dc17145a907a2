package assembly

import (
	"context"
	"errors"

	"github.com/compactsim/compactsim/traces"
)

// Linewise reads the recordings of an agent whose files have lines, each of a session or a sub-agent. F is what a file is read
// into; it embeds a *Part.
type Linewise[F interface {
	Base() *File
	Top() *Part
}] struct {
	Name string              // of the agent
	New  func(*Part) F       // returns an unread file
	Line func(F, Line) error // reads a line; the error says what is wrong with it
	End  func(F)             // takes what is under way where a file ends; nil for nothing
	Ends func([]F)           // the same, where other files tell how it went on
}

// ErrNoType says that a line is not what it should be.
var ErrNoType = errors.New("not a line of a session: it has no type")

// Read reads recordings; see Reader.
func (l Linewise[F]) Read(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	r := Reader[F]{Name: l.Name, Scan: l.scan, Sessions: func(opts *traces.Options, files []F) []*Session {
		if l.Ends != nil {
			l.Ends(files)
		}
		return Families(l.Name, opts, files)
	}}
	return r.Read(ctx, opts, inputs, what)
}

// scan reads one file.
func (l Linewise[F]) scan(ctx context.Context, opts traces.Options, in traces.Input) (F, error) {
	f := l.New(NewPart(NewFile(in.Name, opts)))
	err := f.Base().Read(ctx, opts, in, func(ln Line) error { return l.Line(f, ln) })
	l.end(f)
	return f, err
}

func (l Linewise[F]) end(f F) {
	if l.End != nil {
		l.End(f)
	}
}

// Texts reads the texts of a line again, as far as the line can be read.
func (l Linewise[F]) Texts(text []byte) []traces.Text {
	f := l.New(NewPart(Again()))
	_ = l.Line(f, Line{Text: text}) // what is wrong was told when the file was read
	l.end(f)
	return f.Top().Texts()
}
