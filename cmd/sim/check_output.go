package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/reports/check"
)

// publish writes a report to all requested outputs. It fails when the check does.
func (f *checkFlags) publish(cmd *cobra.Command, r *check.Report) error {
	errs := []error{r.Write(cmd.OutOrStdout(), f.output)}
	if f.junit != "" {
		errs = append(errs, files.Write(cmd.Context(), f.junit, r.JUnit))
	}
	if f.github || os.Getenv("GITHUB_ACTIONS") != "" {
		errs = append(errs, r.Annotate(cmd.ErrOrStderr(), inRepository(r.File)))
		if summary := os.Getenv("GITHUB_STEP_SUMMARY"); summary != "" {
			errs = append(errs, appendFile(summary, func(w io.Writer) error { return r.Write(w, "markdown") }))
		}
	}
	return errors.Join(append(errs, f.charts.draw(cmd, charts.CheckDrawings(r)), r.Err())...)
}

// inRepository returns a path relative to the repository that a GitHub workflow
// has checked out, as its annotations require.
func inRepository(path string) string {
	full, err := filepath.Abs(path)
	if root := os.Getenv("GITHUB_WORKSPACE"); root != "" && err == nil {
		if rel, err := filepath.Rel(root, full); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
	}
	return filepath.ToSlash(path)
}

// appendFile appends to a file, which it creates if missing.
func appendFile(name string, write func(io.Writer) error) error {
	w, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := errors.Join(write(w), w.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// loadBaseline reads the baseline of a check. An error in it fails what is held against it.
func loadBaseline(file *check.File) (was check.Loaded) {
	if file.Baseline == "" {
		return was
	}
	path := besideCheck(file, file.Baseline)
	r, err := files.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		was.Err = missing(file.Baseline)
	case err != nil:
		was.Err = fmt.Errorf("read a baseline: %w", err)
	default:
		defer r.Close()
		was.Baseline, was.Err = check.ReadBaseline(path, r)
	}
	return was
}

// missing is the error for a baseline that does not exist.
type missing string

func (m missing) Error() string     { return string(m) + " does not exist" }
func (m missing) Is(err error) bool { return err == fs.ErrNotExist }

// replaceable returns an error for a file that is to be overwritten and that is no baseline for a reason.
func replaceable(file *check.File, reason error) error {
	if reason != nil && !errors.Is(reason, check.ErrStale) && outputs.IsThere(besideCheck(file, file.Baseline)) {
		return fmt.Errorf("--update would write over %s, which is there and no baseline of sim check (delete it if it was one): %w",
			file.Baseline, reason)
	}
	return nil
}

// renew writes the baseline of a check and says what it holds.
func (f *checkFlags) renew(cmd *cobra.Command, file *check.File, in *check.Input, was *check.Baseline) (now check.Loaded, err error) {
	w := cmd.OutOrStdout()
	if f.output != "text" {
		w = cmd.ErrOrStderr() // standard output is for the document
	}
	b, err := file.NewBaseline(in)
	if err != nil {
		return now, fmt.Errorf("baseline %s: %w", file.Baseline, err)
	}
	path := besideCheck(file, file.Baseline)
	release, err := files.Lock(cmd.Context(), filepath.Dir(path))
	if err != nil {
		return now, err
	}
	defer release()
	if again := loadBaseline(file); again.Baseline != nil && !file.Accept.Renews() {
		was = again.Baseline // another check may have added its run since this one began
	}
	b = file.After(b, was)
	if err := files.Write(cmd.Context(), path, b.Write); err != nil {
		return now, err
	}
	console.Tell(w, file.Baseline+": "+b.Size())
	fmt.Fprintln(w)
	return check.Loaded{Baseline: b}, nil
}

//go:embed check_starter.yaml
var checkStarter []byte

// startCheck writes a first check file; it never overwrites one.
func startCheck(cmd *cobra.Command, name string, paths []string) error {
	if len(paths) > 0 {
		return console.Misuse(errors.New("--init takes no paths of sessions: write them into the file"))
	}
	err := files.New(cmd.Context(), name, 0o644, func(w io.Writer) error { _, err := w.Write(checkStarter); return err })
	if errors.Is(err, fs.ErrExist) {
		return console.Misuse(fmt.Errorf("--init: %s already exists; remove it first or give another FILE", name))
	}
	if err != nil {
		return fmt.Errorf("--init: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "wrote %[1]s; next: sim check --update --file %[2]s PATH writes its baseline from the recordings at PATH, without --update it tests them\n",
		name, document.Argument(name))
	return nil
}

// junitPlace returns an error if a JUnit file cannot be created, or would overwrite something else: a
// baseline or key that is about to be made, or a file that is no JUnit document, as no input of a check is.
func (f *checkFlags) junitPlace(file *check.File) error {
	if f.junit == "" {
		return nil
	}
	if err := outputs.PlaceFor("--junit", f.junit); err != nil {
		return err
	}
	for name, path := range map[string]string{file.Baseline: besideCheck(file, file.Baseline), f.keys.create: f.keys.create} {
		if name != "" && outputs.SameFile(path, f.junit) {
			return fmt.Errorf("--junit %s would write over what the check makes", f.junit)
		}
	}
	if info, err := os.Stat(f.junit); err != nil || !info.Mode().IsRegular() {
		return nil // a device or a pipe is written to
	}
	begin := make([]byte, 1)
	if r, err := os.Open(f.junit); err == nil {
		defer r.Close()
		if n, _ := r.Read(begin); n > 0 && begin[0] != '<' {
			return fmt.Errorf("--junit %s: there is a file that is no JUnit document; move it away or take another name", f.junit)
		}
	}
	return nil
}
