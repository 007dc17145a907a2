// Package facts describes coding agents: their names, where their sessions lie and how these are read, and what the rest of the
// program needs to know about their clients and the caches that they call. It has no promise to importers.
package facts

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/endings"
)

// Names of the agents whose recordings are known, as in Session.Agent.
const (
	ClaudeCode = "claude-code"
	Codex      = "codex"
	OpenCode   = "opencode"
	Pi         = "pi"
	Gemini     = "gemini-cli"
	Copilot    = "copilot-cli"
	DSH        = "deepseek-harness"
	Cline      = "cline"
	Kimi       = "kimi-code"
	Qwen       = "qwen-code"
	Continue   = "continue"
	MiniSWE    = "mini-swe-agent"
	Goose      = "goose"
	OTel       = "otel"        // any program, by its OpenTelemetry spans
	ATIF       = "atif"        // any agent, by a trajectory made of its log
	Requests   = "request-log" // any program, by the requests it sent
)

// Agent describes a coding agent: how its recordings are found and read, and
// what the rest of the program needs to know about its client and the caches it
// calls. Everything that depends on the agent is decided by these fields.
type Agent struct {
	Name  string // as in Session.Agent
	Title string // as its maker writes it

	// Member reports whether a line of JSON is the agent's, given one of its
	// members and the value of "type" if that came before. Nil for none.
	Member func(typ, name string) bool
	// Document reports whether a file that is one JSON document is the agent's,
	// given how it begins. Nil for none.
	Document func(head []byte) bool
	// Lined says that files that Document knows have a line of JSON for each event all the same.
	Lined bool
	// Places adds the folders where the agent keeps its sessions.
	Places func(h *Home)
	// Read reads recordings that were found already. The corpus owns the inputs; on an
	// error without a corpus they are closed. Errors name the inputs as what.
	Read func(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error)
	// Texts reads a line or a document again and returns the texts of the blocks that
	// were read from it, and maybe of others.
	Texts func(text []byte) []traces.Text

	// Source opens a file as the text that Texts is given, where that is not what the file
	// holds; nil for Input.Open.
	Source func(ctx context.Context, in traces.Input) (io.ReadCloser, error)

	// Converted says that recordings are made of the logs of other agents: where such
	// a log lies in a folder beside one, that is read instead.
	Converted bool
	// ClaudeCode says that sessions have versions of Claude Code: fitted
	// profiles, presets by version and advice on its settings apply to them.
	ClaudeCode bool
	// Markers is how many messages of a request carry a cache marker, where the
	// cache needs them. Claude Code's number depends on the version instead.
	Markers int
	// MarksPrompt says that the marker is on what the person typed last, wherever it stands, in requests to the model's maker; through
	// others there is one marker more, and they are on the last messages.
	MarksPrompt bool
	// Size is what the client takes for the size of a context.
	Size Size
	// Window is the context window that the client takes for a model it does not know, tokens; 0 for 200,000.
	Window int64
	// Cache returns the kind of cache that calls of a model go to.
	Cache func(model string) Cache
	// CompactsAt returns the tokens at which a version of the client compacts,
	// given the limits of the model.
	CompactsAt func(version string, l Limits) int64
	// SummaryShares reports whether the summary call of a version and variant continues the
	// conversation's own prefix and so reads it from the cache.
	SummaryShares func(version, variant string) bool
	// SummaryOmits reports whether the summary call of an automatic compaction of a version is not sent the newest round; nil for none.
	SummaryOmits func(version string) bool
	// SummaryModel returns the model that writes the summaries of a version, "" for the model of the conversation; nil if it
	// always is.
	SummaryModel func(version string) string
	// SummaryClip is how many bytes of each tool result the summary call of the client reads;
	// 0 for all.
	SummaryClip int32
	// SummaryTokens is how long the summaries of the client usually are, tokens; 0 where too few recordings show it.
	SummaryTokens int32
	// Keeps is what the client leaves of the messages behind a compaction.
	Keeps Keeps
	// Forgets says that the client puts words of its own ahead of the first prompt of a process, which its log lacks: the next
	// process, which has the conversation from the log, sends that prompt without them.
	Forgets bool
	// Settings are the client's settings that bear on the bill.
	Settings []Setting
}

// otherSummary is how long summaries are of clients of which too few recordings show it, tokens: the geometric mean of Claude Code's,
// Codex's and pi's (two sessions, 1,700); 700 to 5,600 at 95 %.
const otherSummary = 1970

// Summary returns how long a summary of the client usually is, tokens.
func (a *Agent) Summary() float64 {
	return float64(cmp.Or(a.SummaryTokens, otherSummary))
}

// Limits are the limits of a model as a client takes them, tokens.
type Limits struct {
	Window    int64 // of input and output
	MaxInput  int64 // of the input alone, below the window; 0 for none
	MaxOutput int64
}

// Size is what a client takes for the size of a context: the tokens of the last call, and more or less of the rest.
type Size uint8

// The sizes.
const (
	SizeWithNew  Size = iota // input and output, and an estimate of what followed
	SizeUsage                // input and output
	SizeInput                // input
	SizeAtPrompt             // input and output; looked at when a prompt comes, and never within what a prompt leads to
)

// Keeps is what stays of the messages, word for word, behind a compaction whose line does not say it.
type Keeps uint8

// What may stay.
const (
	keepsNothing Keeps = iota
	KeepsNewest        // the newest, as many as the tokens behind the compaction allow
	KeepsPrompts       // what people said
)

// Cache is a kind of prompt cache.
type Cache uint8

// The kinds of cache.
const (
	CacheMarked    Cache = iota // Anthropic's: requests mark what is written
	CacheAutomatic              // OpenAI's: every prefix is kept, in steps, and writes are not billed
)

var cacheNames = [...]string{"marked", "automatic"}

// String returns the lower-case name used in reports.
func (c Cache) String() string { return cacheNames[min(int(c), len(cacheNames)-1)] }

// Place is a folder where an agent usually keeps its sessions.
type Place struct {
	Agent string // as in Session.Agent
	Dir   string
	File  string // the one file in Dir that holds sessions; "" for all files with Suffixes
	// Flat: the files lie in Dir itself. Other folders of an agent, which may
	// be large or private, are not looked into.
	Flat     bool
	Unread   bool     // the files there are of a form that is not read
	Suffixes []string // of the files that hold sessions; nil for the usual ones
}

// Path returns what there is to read at the place: the folder, or its file.
func (p Place) Path() string { return filepath.Join(p.Dir, p.File) }

// Home is a home folder and an environment in which agents keep their sessions.
type Home struct {
	Dir    string                   // "" for none
	Getenv func(name string) string // such as os.Getenv
	Found  []Place
}

// Add adds a place unless its base is unknown.
func (h *Home) Add(p Place, base string, below ...string) {
	if base == "" {
		return
	}
	p.Dir = filepath.Join(append([]string{base}, below...)...)
	h.Found = append(h.Found, p)
}

// Under returns a folder below the home folder, "" without one.
func (h *Home) Under(below ...string) string {
	if h.Dir == "" {
		return ""
	}
	return filepath.Join(append([]string{h.Dir}, below...)...)
}

// From returns the folder that a variable names, else one below the home folder.
func (h *Home) From(variable string, below ...string) string {
	if dir := h.Getenv(variable); dir != "" {
		return dir
	}
	return h.Under(below...)
}

// XDG is From for variables of the XDG Base Directory Specification, which says
// that relative paths are to be ignored.
func (h *Home) XDG(variable string, below ...string) string {
	if dir := h.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return h.Under(below...)
}

// Stock is what lies at a place: files counted, none opened.
type Stock struct {
	Place            // where it is not to be reached, the folder on the way that this user may not open
	Files  int       // those in folders that this user may open
	Bytes  int64     // as stored
	Newest time.Time // latest modification
}

// Survey looks at places and returns the places that hold files or a folder that this user may not open, which reading
// tells, each folder once. The error is ctx's.
func Survey(ctx context.Context, places []Place) ([]Stock, error) {
	var found []Stock
	seen := map[string]bool{}
	for _, p := range places {
		real, err := filepath.EvalSymlinks(p.Dir)
		closed := errors.Is(err, fs.ErrPermission)
		if closed {
			p.Dir, p.File = barrier(p.Dir), ""
			real, err = filepath.EvalSymlinks(p.Dir)
		}
		if err == nil && p.File != "" {
			real = filepath.Join(real, p.File)
		}
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		s := Stock{Place: p}
		// The walk follows no links, unlike reading: it may only count less.
		err = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				if closed = closed || errors.Is(err, fs.ErrPermission); closed && d == nil {
					s.File = "" // its folder tells why
				}
				return skipUnreadable(d)
			case d.IsDir():
				if p.Flat && path != real {
					return fs.SkipDir
				}
				return nil
			}
			closed = errors.Is(s.count(path, d), fs.ErrPermission) || closed
			return nil
		})
		if err != nil {
			return nil, err
		}
		if s.Files > 0 || closed {
			found = append(found, s)
		}
	}
	return found, nil
}

// barrier returns the folder on the way to another that lets this user see nothing behind it; "" for none.
func barrier(dir string) string {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			_, err = os.Stat(dir + string(filepath.Separator) + ".") // needs the right that is missing
			if errors.Is(err, fs.ErrPermission) {
				return dir
			}
			break
		}
	}
	return ""
}

func skipUnreadable(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// count adds a file if its name says that it holds sessions. The error says why it cannot be seen.
func (s *Stock) count(path string, d fs.DirEntry) error {
	ends := s.Suffixes
	if s.File != "" {
		ends = []string{s.File}
	} else if ends == nil {
		ends = endings.Logs[:]
	}
	if !endings.In(d.Name(), ends) {
		return nil
	}
	info, err := d.Info()
	if d.Type()&fs.ModeSymlink != 0 {
		info, err = os.Stat(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	s.Files++
	s.Bytes += info.Size()
	if info.ModTime().After(s.Newest) {
		s.Newest = info.ModTime()
	}
	return nil
}

// Setting is something that a person can set in the client of an agent and that a
// simulation follows. In its texts %s stands for the value.
type Setting struct {
	Name string // as the client calls it
	// Group is what it decides. Of settings of one group a person sets one.
	Group   string
	From    string // first version that honours it; "" where no source states one
	Where   string // the file or environment that Snippet goes to
	Snippet string
	Does    string // in a few words
	Values  []string
	// Below and Above say why no value before the first and behind the last of Values is tried.
	Below, Above string
	// Assign is the setting in a scenario under strategy own, as sim run --set takes it.
	Assign string
	// Also are further assignments, the same for all values.
	Also []string
	// Tool is how the names of the tools begin that the setting is about; "" for no particular ones.
	Tool string
	// Entries are the ways to start the client that the setting is for, as in Session.Entry; nil for all.
	Entries []string
	// Variants are the variants of the client that have the setting, as in Session.Variant; nil for all.
	Variants []string
	Caveat   string // what may differ from the simulation; "" for nothing
}

// Single reports whether one assignment is the setting, in all sessions of a variant of the client.
func (s *Setting) Single() bool { return s.Also == nil && s.Entries == nil }

// For reports whether the setting is for a session.
func (s *Setting) For(x *traces.Session) bool {
	return (s.Entries == nil || slices.Contains(s.Entries, x.Entry)) && s.Has(x.Variant)
}

// Has reports whether a variant of the client has the setting.
func (s *Setting) Has(variant string) bool {
	return s.Variants == nil || slices.Contains(s.Variants, variant)
}

// GroupThreshold is the group of settings that decide at which size a context is compacted.
const GroupThreshold = "threshold"

// NoRoom says why no smaller threshold is tried.
const NoRoom = "at a smaller threshold the head of a request and what a compaction leaves could pass it at once, and it would compact in every call"

// With returns a text of the setting with a value in it.
func (s *Setting) With(text, value string) string { return strings.ReplaceAll(text, "%s", value) }

// VariantLocal is a client that has summaries written by the model, where others of its version have the provider compact.
const VariantLocal = "local"

// VariantOhMyPi is Oh-My-Pi, which writes sessions in the form of pi and compacts them otherwise.
const VariantOhMyPi = "oh-my-pi"
