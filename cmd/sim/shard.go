package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/internal/files"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
)

// keepRows keeps the rows of a run outside of memory, and in its folder, where they survive if the
// program is killed. The caller passes the run's error to done. Real calls have their own storage.
func (f *runFlags) keepRows(s *study, paid bool) (done func(error), err error) {
	p := s.plan
	if p.Journal, err = results.NewJournal(); err != nil || paid {
		return func(error) { p.Journal.Close() }, err
	}
	fresh := !isThere(s.folder.dir)
	if p.Unfinished, err = s.folder.journal(f.output.resume); err != nil {
		p.Journal.Close()
		return nil, err
	}
	p.Whole = f.whole
	return func(ended error) {
		p.Journal.Close()
		if ended != nil && !f.whole {
			_ = p.Unfinished.Leave(false) // rows lost here are simulated again
			if fresh {
				_ = os.Remove(s.folder.dir) // if nothing was left in it
			}
			return
		}
		p.Unfinished.Close()
	}, nil
}

// shardName returns the name of the file of a shard.
func shardName(s scenarios.Shard) string {
	return fmt.Sprintf("shard-%d-of-%d.jsonl", s.Index, s.Count)
}

// runShard simulates a part of the rows into a file of the folder that all parts share.
func (f *runFlags) runShard(cmd *cobra.Command, s *study, paid bool) error {
	part, err := scenarios.ParseShard(f.shard, os.Getenv)
	if err != nil {
		return usageError{err}
	}
	if paid {
		return usageError{errors.New("--shard: real calls are made by one program")}
	}
	for _, flag := range []string{"html", "chart", "split", "per-session"} {
		if cmd.Flags().Changed(flag) {
			return usageError{fmt.Errorf("--%s: a part shows no figures; sim merge does", flag)}
		}
	}
	dir := s.folder.dir
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	name := filepath.Join(dir, shardName(part))
	there := isThere(name) && !f.output.force
	open := name + ".part"
	if there {
		open = name // resumed, if its rows are of this run
	}
	if s.plan.Unfinished, err = results.OpenJournal(open, there); err != nil {
		return err
	}
	stop := f.read.watched(cmd, s.plan, s.corpus)
	err = s.plan.RunShard(cmd.Context(), s.corpus, part)
	stop()
	if err := errors.Join(err, s.plan.Unfinished.Leave(true)); err != nil {
		return err
	}
	if there {
		say(cmd.ErrOrStderr(), "%s is there already", name)
		return nil
	}
	scenario, err := s.scenario()
	if err != nil {
		return err
	}
	if err := files.Write(cmd.Context(), filepath.Join(dir, scenarioFile), func(w io.Writer) error {
		_, err := w.Write(scenario)
		return err
	}); err != nil {
		return err
	}
	if err := os.Rename(open, name); err != nil {
		return fmt.Errorf("--shard %s: %w", f.shard, err)
	}
	return nil
}

// takeSettings applies the settings that the shards in a folder were given.
func (f *runFlags) takeSettings(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, scenarioFile))
	if err != nil || len(f.set) > 0 {
		return err
	}
	if f.set, err = scenarios.Given(text); err != nil {
		return fmt.Errorf("%s: %w", scenarioFile, err)
	}
	return nil
}

func newMerge() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "merge DIR [PATH…]",
		Short: "Put the shards of a run together",
		Long: `Puts together what sim run --shard I/N --out DIR has left in DIR, and writes the run there as one
program would have written it. The sessions are read again, from PATH where they have moved, and
no row is simulated again. A shard that is missing, or is of another run, is an error.`,
		Example: `  sim run thresholds ~/.claude/projects --out sweep --shard 0/2
  sim run thresholds ~/.claude/projects --out sweep --shard 1/2
  sim merge sweep`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("which run? sim merge DIR puts together the shards in DIR")}
			}
			err := joinShards(args[0])
			if err == nil {
				err = f.takeSettings(args[0])
			}
			if err != nil {
				return usageError{fmt.Errorf("merge %s: %w", args[0], err)}
			}
			f.output.out, f.output.resume, f.whole = args[0], true, true
			return f.run(cmd, append([]string{filepath.Join(args[0], scenarioFile)}, args[1:]...))
		},
	}
	f.bindCells(cmd)
	f.live.bind(cmd, &f.read.discover.yes)
	f.output.bind(cmd, "cost and recall by strategy", "run")
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { // the scenario has the others
		flag.Hidden = !strings.Contains(" format chart quiet workers help ", " "+flag.Name+" ")
	})
	return cmd
}

// joinShards writes the rows of all shards of a folder into the journal of an unfinished run.
func joinShards(dir string) error {
	names, err := shardsIn(dir)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, journalFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if !files.Lock(out) {
		return errors.Join(errors.New("another run writes there"), out.Close())
	}
	err = out.Truncate(0)
	for i, name := range names {
		if err == nil {
			_, err = appendRows(out, name, i == 0)
		}
	}
	return errors.Join(err, out.Close())
}

// shardsIn returns the shards of a folder, all of one run.
func shardsIn(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "shard-*-of-*.jsonl"))
	if err != nil || len(names) == 0 {
		return nil, errors.Join(err, errors.New("no shard is there"))
	}
	count := 0
	var head []byte
	for _, name := range names {
		var s scenarios.Shard
		if _, err := fmt.Sscanf(filepath.Base(name), "shard-%d-of-%d.jsonl", &s.Index, &s.Count); err != nil || s.Index >= s.Count {
			return nil, fmt.Errorf("%s: not the name of a shard", filepath.Base(name))
		}
		if count == 0 {
			count = s.Count
		}
		if s.Count != count {
			return nil, fmt.Errorf("there are shards of %d and of %d parts: keep those of one run", count, s.Count)
		}
		first, err := appendRows(nil, name, false)
		if err != nil {
			return nil, err
		}
		if head == nil {
			head = first
		}
		if !bytes.Equal(first, head) {
			return nil, fmt.Errorf("%s is of another run than %s", filepath.Base(name), filepath.Base(names[0]))
		}
	}
	for i := range count {
		if name := shardName(scenarios.Shard{Index: i, Count: count}); !isThere(filepath.Join(dir, name)) {
			return nil, fmt.Errorf("%s is missing; all shards go into one folder", name)
		}
	}
	return names, nil
}

// appendRows appends the rows of a shard, with their head for the first shard, and returns the head; with a nil w it
// only returns the head.
func appendRows(w io.Writer, name string, first bool) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	head, err := r.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: no shard: %w", name, err)
	}
	if first {
		_, err = w.Write(head)
	}
	if err == nil && w != nil {
		_, err = io.Copy(w, r)
	}
	return head, err
}
