package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// discoverFlags say whether a person's own sessions may be read without being
// named. Without that permission files are only counted, not opened.
type discoverFlags struct {
	discover bool
	yes      bool
	pays     bool // yes answers only the other question: whether to make real calls
}

func (f *discoverFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.discover, "discover", false,
		"read the sessions in the usual places of coding agents; asks first on a terminal")
	flags.BoolVarP(&f.yes, "yes", "y", false,
		"answer yes: read what --discover finds")
}

// wanted reports whether to look for sessions.
func (f *discoverFlags) wanted() bool { return f.discover || f.yes && !f.pays }

// errDeclined is returned when a person does not want their sessions read.
var errDeclined = errors.New("cancelled: nothing was read")

// survey looks into the usual places of this host.
func survey(ctx context.Context) ([]traces.Stock, string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	found, err := traces.Survey(ctx, agents.Places(home, os.Getenv))
	return found, home, err
}

// choose returns the folders to read, after saying so and, on a terminal,
// asking. origin is for reports: where the sessions come from.
func (f *discoverFlags) choose(cmd *cobra.Command, quiet bool) (paths []string, origin string, err error) {
	found, home, err := survey(cmd.Context())
	if err != nil {
		return nil, "", err
	}
	w := cmd.ErrOrStderr()
	var shown []string
	for _, s := range found {
		if agents.Readable(s.Place) {
			paths = append(paths, s.Path())
			shown = append(shown, tilde(s.Path(), home))
		}
		if !quiet {
			say(w, "found %s", stockText(s, home))
		}
	}
	if len(paths) == 0 {
		return nil, "", usageError{fmt.Errorf("%w in the usual places; looked in %s; give a PATH",
			traces.ErrNoSessions, lookedIn(home))}
	}
	list, leaves := strings.Join(shown, ", "), "nothing leaves this machine"
	if f.pays {
		leaves = "reading sends nothing anywhere" // a model may summarise them, which is asked later
	}
	if (!f.yes || f.pays) && isTerminal(cmd.InOrStdin()) && isTerminal(w) {
		question := fmt.Sprintf("Read the sessions in %s? %s. [y/N] ", list, strings.ToUpper(leaves[:1])+leaves[1:])
		yes, err := ask(cmd.Context(), cmd.InOrStdin(), w, question)
		switch {
		case err != nil:
			return nil, "", fmt.Errorf("interrupted before anything was read: %w", err)
		case !yes:
			return nil, "", errDeclined
		}
	} else if !quiet {
		say(w, "reading the sessions in %s; %s", list, leaves)
	}
	return paths, "Sessions found in " + list, nil
}

// lookedIn lists the places whose sessions can be read.
func lookedIn(home string) string {
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

// ask reports whether the answer to a question is yes. The error is the cause of ctx's end.
func ask(ctx context.Context, r io.Reader, w io.Writer, question string) (bool, error) {
	fmt.Fprint(w, question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(r).ReadString('\n') // the end of input is not a yes
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(w)
		return false, context.Cause(ctx)
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		}
		return false, nil
	}
}

// stockText describes what is at a place.
func stockText(s traces.Stock, home string) string {
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
