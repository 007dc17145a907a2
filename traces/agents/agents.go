// Package agents reads the recordings of all coding agents and holds what is
// known about each. It is the entry for programs that read sessions:
//
//	corpus, err := agents.Read(ctx, traces.Options{}, "recordings")
//
// A new agent is a folder under traces/internal, which describes it and reads its files, and a line in the list below.
package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/atif"
	"github.com/compactsim/compactsim/traces/internal/claudecode"
	"github.com/compactsim/compactsim/traces/internal/cline"
	"github.com/compactsim/compactsim/traces/internal/codex"
	"github.com/compactsim/compactsim/traces/internal/continuedev"
	"github.com/compactsim/compactsim/traces/internal/copilot"
	"github.com/compactsim/compactsim/traces/internal/dsh"
	"github.com/compactsim/compactsim/traces/internal/gemini"
	"github.com/compactsim/compactsim/traces/internal/goose"
	"github.com/compactsim/compactsim/traces/internal/kimi"
	"github.com/compactsim/compactsim/traces/internal/miniswe"
	"github.com/compactsim/compactsim/traces/internal/opencode"
	"github.com/compactsim/compactsim/traces/internal/otel"
	"github.com/compactsim/compactsim/traces/internal/pi"
	"github.com/compactsim/compactsim/traces/internal/qwen"
	"github.com/compactsim/compactsim/traces/internal/reqlog"
)

// list are the built-in agents. The first stands for unknown agents, and its reader
// says what is wrong with a file that no agent claims.
var list = [...]*facts.Agent{
	claudecode.Describe(), codex.Describe(), opencode.Describe(), pi.Describe(),
	gemini.Describe(), copilot.Describe(), dsh.Describe(), cline.Describe(), kimi.Describe(), qwen.Describe(), continuedev.Describe(), miniswe.Describe(),
	goose.Describe(), otel.Describe(), reqlog.Describe(), atif.Describe(),
}

// Of returns the agent with a name, as in Session.Agent. An unknown agent is taken to behave like Claude Code.
func Of(name string) *facts.Agent {
	for _, a := range list {
		if a.Name == name {
			return a
		}
	}
	return list[0]
}

// Readable reports whether recordings at a place can be read.
func Readable(p facts.Place) bool { return Of(p.Agent).Read != nil && !p.Unread }

// unnamed is what readers call the model of a call that names none.
const unnamed = "unknown"

// CacheOf returns the kind of cache that calls of a session to a model go to: an agent may go from one provider's model to
// another's. Without a name it is the kind of the session's first call that names its model.
func CacheOf(s *traces.Session, model string) facts.Cache {
	if model == "" || model == unnamed {
		anyRound(s, func(r *traces.Round) bool {
			if int(r.Model) < len(s.Models) {
				model = s.Models[r.Model]
			}
			return model != unnamed
		})
	}
	return Of(s.Agent).Cache(model)
}

// Automatic reports whether the calls of a session go to a cache that needs no markers and bills no writes.
func Automatic(s *traces.Session) bool { return CacheOf(s, "") == facts.CacheAutomatic }

// anyRound reports whether a call of a session is as asked for.
func anyRound(s *traces.Session, is func(r *traces.Round) bool) bool {
	for i := range s.Threads {
		rounds := s.Threads[i].Rounds
		for r := range rounds {
			if is(&rounds[r]) {
				return true
			}
		}
	}
	return false
}

// leastPlain is the least uncached input of a call, tokens, that a client which marks it would
// have had written: the largest minimum of a cache that needs markers.
const leastPlain = 4096

// leastGrown is by how much the reads of a thread grow where something was written, tokens: the least prefix that a cache with markers keeps.
const leastGrown = 1024

// Unwritten reports whether the calls of a session go to a cache that needs markers through somebody who bills writes
// as plain input, such as GitHub Copilot, or to a server that keeps every prefix: they read from the cache, bill large inputs
// or come to read more than at first, and write nothing.
func Unwritten(s *traces.Session) bool {
	read, plain := false, false
	for i := range s.Threads {
		rounds := s.Threads[i].Rounds
		for n := range rounds {
			r := &rounds[n]
			if CacheOf(s, s.Models[r.Model]) == facts.CacheAutomatic {
				continue
			}
			if r.Usage.Writes() > 0 {
				return false
			}
			read = read || r.Usage.Read > 0
			plain = plain || r.Usage.Uncached >= leastPlain || r.Usage.Read >= rounds[0].Usage.Read+leastGrown
		}
	}
	return read && plain
}

// Written reports whether the calls of a session go to a cache that works by itself, and their log
// states what they wrote to it, as OpenAI's responses do since GPT-5.6.
func Written(s *traces.Session) bool {
	return anyRound(s, func(r *traces.Round) bool {
		return r.Usage.Writes() > 0 && CacheOf(s, s.Models[r.Model]) == facts.CacheAutomatic
	})
}

// ClaudeCode reports whether a session has versions of Claude Code.
func ClaudeCode(s *traces.Session) bool { return Of(s.Agent).ClaudeCode }

// Places returns where agents usually keep their sessions, under a home folder and an environment such as os.Getenv.
// What an agent's own variable says takes the place of its usual folders; XDG_CONFIG_HOME and XDG_DATA_HOME move what
// lies under ~/.config and ~/.local/share. Without a home only places from variables are known.
func Places(home string, getenv func(string) string) []facts.Place {
	h := &facts.Home{Dir: home, Getenv: getenv}
	for _, a := range list {
		a.Places(h)
	}
	return h.Found
}

// Read reads the recordings under paths: files, folders and "-". A file that no agent claims goes to the reader of
// Claude Code, which says what is wrong with it; one of an agent without a reader is a problem. The result does not
// depend on the order of paths or the number of workers. Bad lines and files are problems of the corpus and its
// sessions, or, with Options.Strict, the error that ends reading. It is an error, which wraps traces.ErrNoSessions,
// when no session is found; the corpus then still holds the problems met. The caller closes the corpus.
func Read(ctx context.Context, opts traces.Options, paths ...string) (*traces.Corpus, error) {
	inputs, err := traces.Find(ctx, opts, paths...)
	if err != nil {
		return nil, err
	}
	return ReadInputs(ctx, opts, inputs, strings.Join(paths, ", "))
}

// ReadInputs is Read for recordings that traces.Find has found. what names them in errors.
func ReadInputs(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	return read(ctx, opts, inputs, what)
}

// ReadFS is Read for the recordings in a file system.
func ReadFS(ctx context.Context, opts traces.Options, fsys fs.FS) (*traces.Corpus, error) {
	inputs, err := traces.FindFS(fsys)
	if err != nil {
		return nil, err
	}
	return read(ctx, opts, inputs, "files")
}

func read(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	m := merger{
		limit: opts.WithDefaults().MaxProblems, files: map[*facts.Agent][]traces.Input{},
		corpus: &traces.Corpus{
			Inputs: inputs, Unknown: map[string]int{}, Unsupported: map[string]int{}, MaxLine: opts.WithDefaults().MaxLine,
		},
	}
	m.keep(inputs.Problems)
	of := make(map[string]*facts.Agent, len(inputs.Files))
	found := make([]claim, len(inputs.Files))
	parallel.Each(opts.Workers, len(found), func(i int) {
		if ctx.Err() == nil {
			found[i] = sniff(ctx, inputs.Files[i])
		}
	})
	for i, in := range inputs.Files {
		c := found[i]
		if of[in.Name] = c.agent; c.rival != nil {
			m.keep([]traces.Problem{{File: in.Name, Text: fmt.Sprintf("it may be of %s or %s; it is taken for the first", c.agent.Title, c.rival.Title)}})
		}
	}
	inputs.Files = m.superseded(inputs.Files, of)
	m.unclaimed = newUnclaimed(of)
	all := slices.Clone(inputs.Files) // while files are deleted, it is in no order
	inputs.Files = slices.DeleteFunc(inputs.Files, func(in traces.Input) bool { return ctx.Err() == nil && m.divide(in, of[in.Name], all) })
	if err := ctx.Err(); err != nil {
		inputs.Close()
		return nil, fmt.Errorf("looking at recordings: %w", err)
	}
	if len(inputs.Files)+len(inputs.Problems) == 0 {
		return m.corpus, fmt.Errorf("%s: %w: none of the files there is a recording", what, traces.ErrNoSessions)
	}
	if opts.Found != nil {
		opts.Found(len(inputs.Files))
	}
	if m.only() && len(m.unclaimed.files) == 0 && m.corpus.NumProblems == len(inputs.Problems) {
		return list[0].Read(ctx, opts, inputs, what)
	}
	err := m.read(ctx, opts, what)
	if err != nil && !errors.Is(err, traces.ErrNoSessions) {
		inputs.Close()
		return nil, err
	}
	return m.corpus, err
}

// merger adds up what several readers read.
type merger struct {
	limit     int
	files     map[*facts.Agent][]traces.Input
	corpus    *traces.Corpus
	unclaimed *unclaimed
}

// only reports whether all files go to the first reader.
func (m *merger) only() bool {
	return len(m.files[list[0]]) == len(m.corpus.Inputs.Files)
}

// superseded drops converted recordings where the agent's own log lies in a folder beside
// them, with a problem for each. Files are ordered by name.
func (m *merger) superseded(files []traces.Input, of map[string]*facts.Agent) []traces.Input {
	own := map[string]string{}
	for _, in := range files {
		if a := of[in.Name]; a == nil || !a.Converted {
			continue
		}
		dir := path.Dir(in.Name) + "/"
		first, _ := slices.BinarySearchFunc(files, dir, func(o traces.Input, dir string) int { return strings.Compare(o.Name, dir) })
		for _, o := range files[first:] {
			if !strings.HasPrefix(o.Name, dir) || own[in.Name] != "" {
				break
			}
			if a := of[o.Name]; a != nil && a.Read != nil && !a.Converted && strings.Contains(o.Name[len(dir):], "/") {
				own[in.Name] = o.Name
			}
		}
	}
	return slices.DeleteFunc(files, func(in traces.Input) bool {
		log := own[in.Name]
		if log != "" {
			m.keep([]traces.Problem{{File: in.Name, Text: "the agent's own log is read in its place: " + log}})
		}
		return log != ""
	})
}

// divide gives a file to the reader of its agent, if it has one. It returns true for a file
// that may be a recording by its name and is none. all are the files that were found.
func (m *merger) divide(in traces.Input, a *facts.Agent, all []traces.Input) bool {
	switch {
	case m.unclaimed.companion(in):
		return true
	case a != nil && a.Read == nil:
		m.corpus.Unsupported[a.Title]++
		m.keep([]traces.Problem{{File: in.Name, Text: fmt.Sprintf("recordings of %s are not supported", a.Title)}})
		return false
	case in.Maybe && (a == nil || a.Document == nil):
		read := a != nil && linesIn(in)
		if read {
			m.files[a] = append(m.files[a], in)
		} else if m.unclaimed.recording(in, all) {
			_ = m.countStrange(in.Name) // strict reading ends with it before it begins
		}
		return !read
	case a == nil:
		a = list[0]
		m.unclaimed.await(in)
	}
	m.files[a] = append(m.files[a], in)
	return false
}

// read reads every group and merges the corpora. A group without a session is an error only when no group has one.
func (m *merger) read(ctx context.Context, opts traces.Options, what string) error {
	c := m.corpus
	if opts.Strict && len(c.Problems) > 0 {
		return fmt.Errorf("reading recordings: %w", c.Problems[0])
	}
	var none error
	told, read := len(c.Problems) > 0, 0
	for _, a := range list {
		if len(m.files[a]) == 0 {
			continue
		}
		read += len(m.files[a])
		d, err := a.Read(ctx, opts, &traces.Inputs{Files: m.files[a]}, what)
		if err != nil && !errors.Is(err, traces.ErrNoSessions) {
			return err
		}
		none = cmp.Or(none, err)
		m.add(d)
	}
	if told && read == len(m.unclaimed.files) {
		none = nil // what a client keeps beside recordings that no reader has says less than their name
	}
	if bad := m.countStrange(m.unclaimed.withoutCalls(c.Sessions)...); bad != nil && opts.Strict {
		return bad
	}
	assembly.Sort(c.Sessions)
	taken := map[string]int{}
	for _, s := range c.Sessions {
		s.ID = assembly.UniqueID(taken, s.ID)
	}
	switch {
	case len(c.Sessions) > 0:
		return nil
	case none != nil:
		return none
	}
	return fmt.Errorf("%s: %w: %s", what, traces.ErrNoSessions, c.Problems[0].String())
}

// keep counts problems and stores them up to the limit.
func (m *merger) keep(found []traces.Problem) {
	c := m.corpus
	c.NumProblems += len(found)
	c.Problems = append(c.Problems, found[:min(len(found), max(0, m.limit-len(c.Problems)))]...)
}

func (m *merger) add(d *traces.Corpus) {
	c := m.corpus
	c.Sessions = append(c.Sessions, d.Sessions...)
	m.keep(d.Problems)
	c.NumProblems += d.NumProblems - len(d.Problems)
	c.Lines += d.Lines
	c.BadLines += d.BadLines
	c.Unread += d.Unread
	c.Bytes += d.Bytes
	c.Repeated += d.Repeated
	c.Inherited += d.Inherited
	for t, n := range d.Unknown {
		c.Unknown[t] += n
	}
}
