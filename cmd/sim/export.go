package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/export"
	"github.com/compactsim/compactsim/internal/files"
	"github.com/compactsim/compactsim/internal/needs"
	"github.com/compactsim/compactsim/internal/parsed"
	"github.com/compactsim/compactsim/internal/pseudonym"
)

// exportFlags are the flags of sim export.
type exportFlags struct {
	output string
	labels []string
	force  bool
	raw    bool
	keys   keyFlags

	sessions bool
}

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export RUN… | --sessions PATH… -o FILE",
		Short: "Write the rows of runs, or parsed sessions, as JSON lines, CSV or Parquet",
		Long: `Writes the rows of runs, one for each cell and session, for other programs. RUN is
a folder that sim run --out made, or its rows.jsonl. The extension of FILE says
which format it is: .jsonl, .csv or .parquet; docs/schema.md lists the columns.
FILE.meta.json, beside JSON lines and CSV, says where the figures come from.

--anonymize replaces session ids and everything that could be a path or a
person's words by keyed hashes. The key, 16 bytes or more, is in a file or in the
variable ` + anonymizeKeyVariable + `, and in no output. One key gives a session the
same pseudonym in every export.

--sessions writes the sessions under PATH instead, parsed, into FILE.parquet: sim run
and sim-beam read it where a recording is named, faster, on processors of one
architecture and with one version of sim. It has what sessions did and where, but not their texts.`,
		Example: `  sim run --out today ~/.claude/projects && sim export today -o today.parquet
  sim export --label before=one --label after=two -o both.csv
  sim export today -o shared.parquet --anonymize --new-anonymize-key ~/sim.key
  sim export later -o later.parquet --anonymize --anonymize-key ~/sim.key
  sim export --sessions ~/.claude/projects -o sessions.parquet`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.sessions {
				return f.exportSessions(cmd, args)
			}
			return f.export(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "write into `FILE`.jsonl, .csv or .parquet")
	flags.StringArrayVar(&f.labels, "label", nil, "export a run with its name in a column run, as `NAME=RUN`; repeatable")
	flags.BoolVar(&f.force, "force", false, "replace files that are there")
	flags.BoolVar(&f.raw, "raw", false, "CSV: keep texts that a spreadsheet takes for formulas as they are")
	flags.BoolVar(&f.sessions, "sessions", false, "write the sessions under PATH, parsed, into FILE.parquet")
	f.keys.bind(cmd)
	flags.StringVar(&f.keys.create, "new-anonymize-key", "", "make a key and write it into a new `FILE`")
	return cmd
}

func (f *exportFlags) export(cmd *cobra.Command, args []string) error {
	format, err := f.check(args)
	if err != nil {
		return usageError{err}
	}
	ctx := cmd.Context()
	sources, remarks, err := f.read(ctx, args)
	for _, remark := range remarks {
		say(cmd.ErrOrStderr(), "%s", remark)
	}
	if err != nil {
		return usageError{err}
	}
	key, err := f.keys.key()
	if err != nil {
		return usageError{err}
	}
	for i := range sources {
		if key != nil {
			sources[i].Run = pseudonym.Run(sources[i].Run, key)
		}
	}
	table, err := export.New(sources)
	if errors.Is(err, export.ErrConflict) {
		err = fmt.Errorf("%w: tell the runs apart with --label NAME=RUN", err)
	}
	if err != nil {
		return usageError{err}
	}
	if f.keys.create != "" {
		if err := saveKey(ctx, f.keys.create, key); err != nil {
			return err
		}
	}
	if err := f.write(ctx, table, format); err != nil {
		return err
	}
	tell(cmd.OutOrStdout(), document.Count(table.Len(), "row")+" in "+f.output)
	return nil
}

// exportSessions writes sessions unchanged, once they are read.
func (f *exportFlags) exportSessions(cmd *cobra.Command, args []string) error {
	var errs []error
	if len(args) == 0 {
		errs = append(errs, errors.New("no sessions: name files or folders of recordings"))
	}
	if f.output == "" {
		errs = append(errs, errors.New("no output: -o FILE.parquet"))
	} else if !strings.HasSuffix(f.output, parsed.Suffix) {
		errs = append(errs, fmt.Errorf("-o %s: sessions are written into a FILE%s", f.output, parsed.Suffix))
	} else if !f.force && isThere(f.output) {
		errs = append(errs, fmt.Errorf("%s: exists; --force replaces it", f.output))
	} else {
		errs = append(errs, placeFor("-o", f.output))
	}
	for _, flag := range []string{"label", "raw", "anonymize", "anonymize-key", "new-anonymize-key"} {
		if cmd.Flags().Changed(flag) {
			errs = append(errs, fmt.Errorf("--%s is for rows: not with --sessions", flag))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	read := readFlags{listener: needs.NewListener(), verbose: true}
	c, err := read.corpus(cmd, args)
	if err != nil {
		return err
	}
	defer c.Close()
	err = files.Write(cmd.Context(), f.output, func(w io.Writer) error { return parsed.Write(untilDone{cmd.Context(), w}, c.Sessions) })
	if err == nil {
		tell(cmd.OutOrStdout(), document.Count(len(c.Sessions), "session")+" in "+f.output)
	}
	return err
}

// write writes the data and its description, both or none. A link, or what is
// no regular file, is written to directly.
func (f *exportFlags) write(ctx context.Context, table *export.Table, format string) error {
	table.Raw = f.raw
	data := func(w io.Writer) error { return table.Write(untilDone{ctx, w}, format) }
	meta, ok := f.metaFile(format)
	if !ok {
		return files.Write(ctx, f.output, data)
	}
	for _, name := range []string{f.output, meta} {
		if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
			return errors.Join(files.Write(ctx, f.output, data), files.Write(ctx, meta, table.Describe))
		}
	}
	return files.WriteAll(ctx, filepath.Dir(f.output), []files.Member{
		{Name: filepath.Base(f.output), Write: data}, {Name: filepath.Base(meta), Write: table.Describe},
	}, nil)
}

// untilDone is a writer that fails once its context is done.
type untilDone struct {
	ctx context.Context
	w   io.Writer
}

// Write writes p.
func (u untilDone) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(p)
}

// metaFile returns the file for the metadata that a format has no place for.
func (f *exportFlags) metaFile(format string) (string, bool) {
	return f.output + ".meta.json", format != export.FormatParquet
}

// check returns the format of the output, or everything that is wrong with the
// command line.
func (f *exportFlags) check(args []string) (string, error) {
	var errs []error
	if len(args)+len(f.labels) == 0 {
		errs = append(errs, errors.New("no run: name a folder that sim run --out made"))
	}
	errs = append(errs, f.keys.check())
	if f.output == "" {
		return "", errors.Join(append(errs, errors.New("no output: -o FILE.parquet, .csv or .jsonl"))...)
	}
	format, err := export.FormatOf(f.output)
	if err != nil {
		return "", errors.Join(append(errs, err)...)
	}
	errs = append(errs, placeFor("-o", f.output))
	files := []string{f.output}
	if meta, ok := f.metaFile(format); ok {
		files = append(files, meta)
	}
	for _, file := range files {
		for _, key := range []string{f.keys.file, f.keys.create} {
			if key != "" && sameFile(key, file) {
				errs = append(errs, fmt.Errorf("%s: the key and the export cannot be one file", file))
			}
		}
		for _, run := range f.runs(args) {
			if sameFile(run, file) || sameFile(filepath.Join(run, rowsFile), file) {
				errs = append(errs, fmt.Errorf("%s: the run itself cannot be written over", file))
			}
		}
		if !f.force && isThere(file) {
			errs = append(errs, fmt.Errorf("%s: exists; --force replaces it", file))
		}
	}
	return format, errors.Join(errs...)
}

// runs returns the paths of all runs, those with labels last.
func (f *exportFlags) runs(args []string) []string {
	all := slices.Clone(args)
	for _, l := range f.labels {
		_, path, _ := strings.Cut(l, "=")
		all = append(all, path)
	}
	return all
}

// sameFile reports whether two paths are or will be the same file.
func sameFile(a, b string) bool {
	one, errA := os.Stat(a)
	other, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(one, other)
	}
	return errA != nil && errB != nil && place(a) == place(b)
}

// place returns the path of a file that does not exist yet, with the links to
// its folder resolved, in lower case: some file systems ignore case.
func place(file string) string {
	dir := filepath.Dir(file)
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return strings.ToLower(filepath.Join(dir, filepath.Base(file)))
}

// read returns the runs, those with labels last, and the remarks on them.
func (f *exportFlags) read(ctx context.Context, args []string) (sources []export.Source, remarks []string, err error) {
	var errs []error
	add := func(label, path string) {
		run, err := runAt(ctx, path)
		if run != nil && run.PassedOver.Note() != "" {
			remarks = append(remarks, path+" holds what is "+run.PassedOver.Note())
		}
		sources, errs = append(sources, export.Source{Label: label, Run: run}), append(errs, err)
	}
	for _, path := range args {
		add("", path)
	}
	for _, l := range f.labels {
		label, path, ok := strings.Cut(l, "=")
		if !ok || label == "" || path == "" {
			errs = append(errs, fmt.Errorf("--label %s: want NAME=RUN", l))
			continue
		}
		add(label, path)
	}
	return sources, remarks, errors.Join(errs...)
}
