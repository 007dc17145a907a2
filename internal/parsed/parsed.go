// Package parsed reads and writes Parquet files of parsed sessions, one per row, in sim's memory layout and without
// texts: about 3 % of the size of the recordings. Only programs with the same layout can read them.
package parsed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/compactsim/compactsim/internal/agents/assembly"
	"github.com/compactsim/compactsim/internal/needs"
	"github.com/compactsim/compactsim/internal/store"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Suffix is the ending of the names of such files.
const Suffix = ".parquet"

// keyLayout is the key of metadata for the layout of the sessions in a file.
const keyLayout = "sim.sessions"

// groupBytes is the size of a row group, bytes of sessions.
const groupBytes = 16 << 20

// row is a session in a file. The fields before the body are for queries.
type row struct {
	Session string `parquet:"session"`
	Agent   string `parquet:"agent,dict"`
	Project string `parquet:"project,dict"`
	Start   int64  `parquet:"start,timestamp(nanosecond)"`
	Calls   int64  `parquet:"calls"`
	Body    []byte `parquet:"body,zstd"`
}

func newCoder() (*store.Coder[traces.Session], error) {
	return store.NewCoder[traces.Session](new(needs.Index))
}

// Write writes sessions that were read with a listener.
func Write(w io.Writer, sessions []*traces.Session) error {
	coder, err := newCoder()
	if err != nil {
		return err
	}
	sealed := newSealer(w)
	pw := parquet.NewGenericWriter[row](sealed, parquet.KeyValueMetadata(keyLayout, coder.Layout),
		parquet.KeyValueMetadata(keyDigest, unsealed), parquet.SkipPageBounds("body"))
	size := 0
	for _, s := range sessions {
		whole, err := s.Load()
		if err != nil {
			return err
		}
		body := coder.Encode(whole)
		if _, err := pw.Write([]row{{s.ID, s.Agent, s.Project, s.Start, int64(s.NumCalls()), body}}); err != nil {
			return fmt.Errorf("session %s: %w", s.ID, err)
		}
		if size += len(body); size > groupBytes {
			size = 0
			if err := pw.Flush(); err != nil {
				return err
			}
		}
	}
	if err := pw.Flush(); err != nil {
		return err
	}
	sealed.footer = new(bytes.Buffer)
	if err := pw.Close(); err != nil {
		return err
	}
	return sealed.seal()
}

// Read reads files of sessions, and has agents read the recordings among the inputs: see agents.ReadInputs. Sessions
// of such files have no texts, and their file is the one they were read from.
func Read(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	var ours []traces.Input
	recordings := *inputs
	recordings.Files = nil
	for _, in := range inputs.Files {
		if strings.HasSuffix(in.Name, Suffix) {
			ours = append(ours, in)
		} else {
			recordings.Files = append(recordings.Files, in)
		}
	}
	if len(ours) == 0 {
		return agents.ReadInputs(ctx, opts, inputs, what)
	}
	c := &traces.Corpus{}
	if len(recordings.Files)+len(recordings.Problems) > 0 {
		var err error
		if c, err = agents.ReadInputs(ctx, opts, &recordings, what); err != nil && !errors.Is(err, traces.ErrNoSessions) {
			return nil, err
		}
	}
	c.Inputs = inputs
	for _, in := range ours {
		n := len(c.Sessions)
		err := read(ctx, opts, in.Name, c)
		switch {
		case ctx.Err() != nil || errors.Is(err, traces.ErrMemory) || err != nil && opts.Strict:
			c.Close()
			return nil, fmt.Errorf("%s: %w", in.Name, err)
		case err != nil: // all of a file or nothing
			c.Sessions = c.Sessions[:n]
			c.Problems = append(c.Problems, traces.Problem{File: in.Name, Text: err.Error(), Unread: true})
			c.NumProblems++
		}
	}
	leaveOutTwins(c)
	assembly.Sort(c.Sessions)
	taken := map[string]int{}
	for _, s := range c.Sessions {
		s.ID = assembly.UniqueID(taken, s.ID)
	}
	switch {
	case len(c.Sessions) > 0:
		return c, nil
	case len(c.Problems) > 0:
		return c, fmt.Errorf("%s: %w: %s", what, traces.ErrNoSessions, c.Problems[0].String())
	}
	return c, fmt.Errorf("%s: %w", what, traces.ErrNoSessions)
}

// leaveOutTwins removes sessions that were also read from another file: their calls count as repeated.
func leaveOutTwins(c *traces.Corpus) {
	type identity struct {
		agent, id string
		start     int64
	}
	seen := map[identity]bool{}
	c.Sessions = slices.DeleteFunc(c.Sessions, func(s *traces.Session) bool {
		k := identity{s.Agent, s.ID, s.Start}
		if seen[k] {
			c.Repeated += s.NumCalls()
			return true
		}
		seen[k] = true
		return false
	})
}

var (
	errForm    = errors.New("no file of sessions that this version of sim reads on this processor: write it anew with sim export --sessions")
	errDamaged = errors.New("damaged: write it anew with sim export --sessions")
)

// read adds the sessions of a file to a corpus.
func read(ctx context.Context, opts traces.Options, name string, c *traces.Corpus) (err error) {
	defer func() {
		if recover() != nil { // the Parquet library may panic on a damaged file
			err = errDamaged
		}
	}()
	coder, err := newCoder()
	if err != nil {
		return err
	}
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := checkSeal(in, info.Size()); err != nil {
		return err
	}
	file, err := parquet.OpenFile(in, info.Size())
	if err != nil {
		return fmt.Errorf("%w (%w)", errForm, err)
	}
	if layout, _ := file.Lookup(keyLayout); layout != coder.Layout {
		return errForm
	}
	r := parquet.NewGenericReader[row](file)
	defer func() { _ = r.Close() }()
	for rows := make([]row, 1); ctx.Err() == nil; {
		n, err := r.Read(rows)
		if n == 1 {
			if err := opts.Room(name); err != nil {
				return err
			}
			s := new(traces.Session)
			if coder.Decode(rows[0].Body, s) != nil {
				return errDamaged
			}
			if opts.Spoke != nil {
				opts.Spoke(name, prompt.DigestString(s.ID).Lo)
			}
			s.Files = []string{name}
			c.Sessions = append(c.Sessions, s)
		}
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("%w (%w)", errDamaged, err)
		}
	}
	c.Bytes += info.Size()
	if opts.Progress != nil {
		opts.Progress(info.Size(), 1)
	}
	return ctx.Err()
}
