package recordings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Discovery says whether a person's own sessions may be read without being
// named. Without that permission files are only counted, not opened.
type Discovery struct {
	Asked         bool
	Yes           bool
	YesIsForCalls bool // yes answers only the other question: whether to make real calls
}

// Wanted reports whether to look for sessions.
func (d *Discovery) Wanted() bool { return d.Asked || d.Yes && !d.YesIsForCalls }

// errDeclined is returned when a person does not want their sessions read.
var errDeclined = errors.New("cancelled: nothing was read")

// Survey looks into the usual places of this host.
func Survey(ctx context.Context) ([]facts.Stock, string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	found, err := facts.Survey(ctx, agents.Places(home, os.Getenv))
	return found, home, err
}

// choose returns the folders to read, after saying so and, on a terminal,
// asking. origin is for reports: where the sessions come from.
func (d *Discovery) choose(ctx context.Context, in io.Reader, w io.Writer, quiet bool) (paths []string, origin string, err error) {
	found, home, err := Survey(ctx)
	if err != nil {
		return nil, "", err
	}
	var shown []string
	for _, s := range found {
		if agents.Readable(s.Place) {
			paths = append(paths, s.Path())
			shown = append(shown, tilde(s.Path(), home))
		}
		if !quiet && (s.Files > 0 || agents.Readable(s.Place)) {
			console.Say(w, "found %s", stockText(s, home))
		}
	}
	if len(paths) == 0 {
		return nil, "", console.Misuse(fmt.Errorf("%w in the usual places; looked in %s; give a PATH",
			traces.ErrNoSessions, LookedIn(home)))
	}
	list, leaves := strings.Join(shown, ", "), "nothing leaves this machine"
	if d.YesIsForCalls {
		leaves = "reading sends nothing anywhere" // a model may summarise them, which is asked later
	}
	if (!d.Yes || d.YesIsForCalls) && console.IsTerminal(in) && console.IsTerminal(w) {
		question := fmt.Sprintf("Read the sessions in %s? %s. [y/N] ", list, strings.ToUpper(leaves[:1])+leaves[1:])
		yes, err := console.Ask(ctx, in, w, question)
		switch {
		case err != nil:
			return nil, "", fmt.Errorf("interrupted before anything was read: %w", err)
		case !yes:
			return nil, "", errDeclined
		}
	} else if !quiet {
		console.Say(w, "reading the sessions in %s; %s", list, leaves)
	}
	return paths, "Sessions found in " + list, nil
}

// LookedIn lists the places whose sessions can be read.
func LookedIn(home string) string {
	var dirs []string
	for _, p := range agents.Places(home, os.Getenv) {
		if agents.Readable(p) {
			dirs = append(dirs, tilde(p.Path(), home))
		}
	}
	if len(dirs) == 0 {
		return "none, for there is no home folder"
	}
	return strings.Join(dirs, ", ")
}

// stockText describes what is at a place.
func stockText(s facts.Stock, home string) string {
	if s.Files == 0 {
		return fmt.Sprintf("nothing in %s, where a folder cannot be opened", tilde(s.Path(), home)) // reading names it
	}
	text := fmt.Sprintf("%s in %s (%s, %s, newest %s)", document.Count(s.Files, "file"), tilde(s.Path(), home), s.Agent,
		megabytes(s.Bytes), s.Newest.Local().Format(time.DateOnly))
	if !agents.Readable(s.Place) {
		text += ", a format sim does not read"
	}
	return text
}

// tilde shortens a path within the home folder.
func tilde(path, home string) string {
	if home == "" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// megabytes formats bytes in units of 10⁶.
func megabytes(n int64) string {
	switch {
	case n < 1e5:
		return "< 0.1 MB"
	case n < 1e7:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}
