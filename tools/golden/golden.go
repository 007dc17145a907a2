// Golden holds the program against digests of what it printed and wrote before: the
// guard of a change that is not meant to change any figure.
//
//	go run ./tools/golden [--update] [--keep DIR] [--only REGEX]
//
// Every line of commands.txt is a case, a line of bash that runs sim in an empty home
// and at a fixed depth of folders. What it prints and what it leaves in its folder $T
// is normalised and digested; digests.txt holds a line for each piece:
//
//	rows run/samples/presets o/rows.jsonl#none 5f0c…
//
// A piece is of group rows, figures that no reshaping may move, or of group text:
// tables, charts and messages, which a commit of its own may change. Of a piece that
// differs golden shows the first line that does, beside what the program of the commit
// that kept the digests says there.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/compactsim/compactsim/internal/kit/parallel"
)

const folder = ".ci/golden"

// A testCase is a line of commands.txt.
type testCase struct {
	group, name, command string
}

// A piece is something that a case printed or wrote.
type piece struct {
	group, what string
	data        []byte
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("golden: ")
	update := flag.Bool("update", false, "write the digests anew")
	keep := flag.String("keep", "", "keep what the cases print and write in this `DIR`")
	only := flag.String("only", "", "only cases whose \"group name\" matches this `REGEX`")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unknown argument %q", flag.Arg(0))
	}
	filter, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	cases, err := readCases(filepath.Join(folder, "commands.txt"))
	if err != nil {
		log.Fatal(err)
	}
	cases = slices.DeleteFunc(cases, func(c testCase) bool { return !filter.MatchString(c.group + " " + c.name) })
	began := time.Now()
	now, ran, err := digests(cases, *keep)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d cases, %d skipped for want of ../shared, %d digests, %.0f s\n", len(ran), len(cases)-len(ran), len(now),
		time.Since(began).Seconds())
	differ, err := judge(now, ran, *update)
	if err != nil {
		log.Fatal(err)
	}
	if len(differ) > 0 {
		if err := show(cases, differ); err != nil {
			log.Printf("cannot show what differs: %v", err)
		}
		log.Fatalf("%d differ", len(differ))
	}
}

// readCases reads the lines "group name: command"; a # begins a comment, and a line
// that ends in a backslash goes on in the next.
func readCases(path string) ([]testCase, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var cases []testCase
	seen := map[string]bool{}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		head, command, ok := strings.Cut(line, ": ")
		group, name, named := strings.Cut(head, " ")
		if !ok || !named || group != "rows" && group != "text" || strings.Contains(name, " ") {
			return nil, fmt.Errorf("%s: want \"rows|text NAME: COMMAND\", not %q", path, line)
		}
		if seen[name] {
			return nil, fmt.Errorf("%s: two cases %s", path, name)
		}
		seen[name] = true
		cases = append(cases, testCase{group, name, command})
	}
	return cases, nil
}

// digests runs cases and returns the digests of what came out, and which cases were not skipped.
func digests(cases []testCase, keep string) (now map[string]string, ran map[string]bool, err error) {
	now, ran = map[string]string{}, map[string]bool{}
	err = run(cases, os.Getenv("SIM"), keep, func(c testCase, pieces []piece) {
		ran[c.name] = true
		for _, p := range pieces {
			now[p.name(c)] = p.digest()
		}
	})
	return now, ran, err
}

// run runs cases against the program sim, or against one built here where sim is empty, and calls each, one at a time, with what
// came out.
func run(cases []testCase, sim, keep string, each func(testCase, []piece)) error {
	top, err := scaffold(sim)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(top) }() // the system clears what is left
	var mu sync.Mutex
	return parallel.Do(context.Background(), 0, len(cases), func(i int) error {
		c := cases[i]
		if missing(c.command) {
			return nil
		}
		pieces, err := c.run(top)
		if err == nil && keep != "" {
			err = keepPieces(filepath.Join(keep, filepath.FromSlash(c.name)), pieces)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		var parts []piece
		for _, p := range pieces {
			parts = append(parts, p.split()...)
		}
		mu.Lock()
		defer mu.Unlock()
		each(c, parts)
		return nil
	})
}

var sharedPath = regexp.MustCompile(`\.\./shared/[\w-]+`)

// missing reports whether a folder beside the checkout that a command reads is absent.
func missing(command string) bool {
	return slices.ContainsFunc(sharedPath.FindAllString(command, -1), func(dir string) bool {
		_, err := os.Stat(dir)
		return err != nil
	})
}

// scaffold makes the folder that cases run in. Its path has always the same length, for
// tables wrap by length; below it stands the program, an empty home, the small
// inputs, the samples, and beside it what stands beside the checkout.
func scaffold(sim string) (top string, err error) {
	top = fmt.Sprintf("/tmp/sim-golden-%010d", os.Getpid())
	if err := os.RemoveAll(top); err != nil {
		return "", err
	}
	for _, dir := range []string{"bin", "home", "tmp", "main/.ci/golden", "main/t"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			return "", err
		}
	}
	bin := filepath.Join(top, "bin", "sim")
	if sim == "" {
		if err := build(".", bin); err != nil {
			return "", err
		}
	} else if sim, err = filepath.Abs(sim); err != nil {
		return "", err
	} else if err := os.Symlink(sim, bin); err != nil {
		return "", err
	}
	// Notes below charts have the version and are cut at the edge, so that its length shows elsewhere too.
	version, err := exec.Command(bin, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", cmp.Or(sim, bin), err)
	}
	if !strings.Contains(string(version), "(devel)") {
		return "", fmt.Errorf("%s is %q: build it with -buildvcs=false", cmp.Or(sim, bin), strings.TrimSpace(string(version)))
	}
	if shared, err := filepath.Abs("../shared"); err == nil {
		if err := os.Symlink(shared, filepath.Join(top, "shared")); err != nil {
			return "", err
		}
	}
	if err := os.CopyFS(filepath.Join(top, "main", folder), os.DirFS(folder)); err != nil {
		return "", err
	}
	return top, os.CopyFS(filepath.Join(top, "main/samples"), os.DirFS("traces/synthetic/samples"))
}

// build builds the program of a checkout.
func build(dir, bin string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", bin, "./cmd/sim")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build in %s: %w", dir, err)
	}
	return nil
}

// run runs a case and tells what came out.
func (c testCase) run(top string) (pieces []piece, err error) {
	root := filepath.Join(top, "main")
	t := filepath.Join("t", strings.ReplaceAll(c.name, "/", "_"))
	work := filepath.Join(root, t)
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	env := []string{
		"PATH=" + filepath.Join(top, "bin") + ":/usr/local/bin:/usr/bin:/bin",
		"HOME=" + filepath.Join(top, "home"),
		"TMPDIR=" + filepath.Join(top, "tmp"),
		"TZ=UTC", "LC_ALL=C", "T=" + t,
		"GOGC=400", // collecting less often takes a fifth less time
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-c", ". "+folder+"/names.sh\n"+c.command)
	cmd.Dir, cmd.Env = root, env
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	pieces = []piece{
		{"rows", "exit", fmt.Append(nil, cmd.ProcessState.ExitCode())}, {c.group, "out", stdout.Bytes()}, {"text", "err", stderr.Bytes()},
	}
	files, err := c.files(work)
	if err != nil {
		return nil, err
	}
	pieces = append(pieces, files...)
	for i := range pieces {
		pieces[i].data = normalise(pieces[i].data, top)
	}
	return pieces, os.RemoveAll(work)
}

// files are the files that a case left. Sessions and stored calls are many, and make
// one piece a folder.
func (c testCase) files(work string) ([]piece, error) {
	var pieces []piece
	many := map[string]*bytes.Buffer{}
	err := filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) == ".entry" { // kept sessions have names by program
			return err
		}
		rel, err := filepath.Rel(work, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel = strings.ReplaceAll(filepath.ToSlash(rel), " ", "_")
		for _, dir := range []string{"sessions", "cassettes"} {
			if strings.HasPrefix(rel, dir+"/") {
				if many[dir] == nil {
					many[dir] = &bytes.Buffer{}
				}
				fmt.Fprintf(many[dir], "== %s\n%s", rel, data)
				return nil
			}
		}
		group := c.group
		if config, err := png.DecodeConfig(bytes.NewReader(data)); err == nil {
			// The program's version is drawn into it; the same chart as SVG is told whole.
			data = fmt.Appendf(nil, "PNG, %d × %d\n", config.Width, config.Height)
		}
		switch filepath.Ext(rel) {
		case ".txt", ".md", ".svg", ".png", ".err":
			group = "text"
		case ".yaml", ".yml":
			pieces = append(pieces, piece{"text", "files/" + rel + "#comments", data})
			data = comments.ReplaceAll(data, nil)
		}
		pieces = append(pieces, piece{group, "files/" + rel, data})
		return nil
	})
	for dir, b := range many {
		pieces = append(pieces, piece{c.group, "files/" + dir, b.Bytes()})
	}
	slices.SortFunc(pieces, func(a, b piece) int { return strings.Compare(a.what, b.what) })
	return pieces, err
}

// keepPieces writes DIR/name.out, name.err and name.files/….
func keepPieces(base string, pieces []piece) error {
	for _, p := range pieces {
		path := base + "." + p.what
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, p.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
