package compactsim

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostRooms is the largest number of rooms above the lowest floor that a plain run may pass.
const mostRooms = 9

// A plain run passes few rooms, and since imports point down none twice. docs/architecture.md draws them.
func TestWayOfARun(t *testing.T) {
	builds(t)
	dir := t.TempDir()
	sim := filepath.Join(dir, "sim")
	if out, err := exec.Command("go", "build", "-cover", "-coverpkg=./...", "-o", sim, "./cmd/sim").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before := executed(t, dir, sim, "version")
	passed := map[string]bool{}
	for statement := range executed(t, dir, sim, "run", "--no-store", "--quiet", "traces/synthetic/samples") {
		if !before[statement] { // not of the program's start
			file, _, _ := strings.Cut(strings.TrimPrefix(statement, module), ":")
			if r, floor, ok := room(path.Dir(file)); ok && floor > 0 {
				passed[r] = true
			}
		}
	}
	if len(passed) > mostRooms || !passed["sim"] {
		t.Errorf("a plain run passes %d rooms, want at most %d: %q", len(passed), mostRooms, slices.Sorted(maps.Keys(passed)))
	}
	renew(t, "way", way(passed))
}

// The list of files and functions in docs/architecture.md names what is there: at least one function behind each file.
func TestWayNamesFunctions(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "<!-- end of way -->")
	list, _, _ = strings.Cut(list, "\n## ")
	text, files, named := "", 0, 1
	for i, name := range strings.Split(list, "`") {
		switch {
		case i%2 == 0: // between names
		case strings.HasSuffix(name, ".go"):
			if named == 0 {
				t.Errorf("no function before %s", name)
			}
			source, err := os.ReadFile(name)
			if err != nil {
				t.Error(err)
			}
			text, files, named = string(source), files+1, 0
		default:
			named++
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `\(`).MatchString(text) {
				t.Errorf("%s is not declared in the file named before it", name)
			}
		}
	}
	if files < 15 { // the rooms of a plain run with their main files
		t.Errorf("%d files, want at least 15", files)
	}
}

// builds skips a test that builds the program in another form, but under make house.
func builds(t *testing.T) {
	t.Helper()
	if os.Getenv("HOUSE") == "" {
		t.Skip("builds the program anew: make house")
	}
}

// executed returns the statements that a command executes.
func executed(t *testing.T, dir, sim string, args ...string) map[string]bool {
	t.Helper()
	counts := filepath.Join(dir, args[0])
	if err := os.Mkdir(counts, 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(sim, args...)
	command.Env = append(os.Environ(), "GOCOVERDIR="+counts)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("sim %q: %v: %s", args, err, out)
	}
	text := counts + ".txt"
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", counts, "-o", text).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := os.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	found := map[string]bool{}
	lines := bufio.NewScanner(file)
	for lines.Scan() { // file:from,to statements count
		if f := strings.Fields(lines.Text()); len(f) == 3 && f[2] != "0" {
			found[f[0]] = true
		}
	}
	if err := lines.Err(); err != nil || len(found) == 0 {
		t.Fatalf("%s: %d statements, %v", text, len(found), err)
	}
	return found
}

// way draws the rooms that a run passed from the top, rooms of one floor side by side.
func way(passed map[string]bool) string {
	var b strings.Builder
	b.WriteString("\n```")
	last := -1
	for _, r := range rooms {
		switch {
		case !passed[r.name]:
		case r.floor == last:
			fmt.Fprintf(&b, " · %s", r.name)
		default:
			fmt.Fprintf(&b, "\n%d  %s", r.floor, r.name)
			last = r.floor
		}
	}
	b.WriteString("\n```\n\n")
	return b.String()
}
