package claudecode

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// One file that a command shows whole and alone is the file; anything else is not.
func TestShownBy(t *testing.T) {
	for command, want := range map[string]string{
		"cat out/1.txt": "out/1.txt", "cat -n 'a.go'": "a.go", "cat /x/y": "/x/y", "cat": "", "cat a b": "", "cat a|head": "", "cat *.go": "",
		"cat $F": "", "cat -A x": "", "head a": "", "cd x && cat y": "", "cat ~/x": "",
	} {
		if got := string(shownBy([]byte(command))); got != want {
			t.Errorf("%q shows %q, want %q", command, got, want)
		}
	}
	s := newScript("s")
	s.prompt("go")
	s.call("m1", 20_000, use("t1", "Bash", fields{"command": "cat ./a.txt"}))
	s.result("t1", words(50))
	s.call("m2", 20_100, readFile("t2", "/home/dev/project/a.txt"))
	s.result("t2", words(50))
	s.call("m3", 20_200, text("done"))
	got := sessionOf(t, s)
	if len(got.Objects) != 1 || got.Objects[0] != "/home/dev/project/a.txt" {
		t.Errorf("objects %v, want one file for both", got.Objects)
	}
}

// Where lines show what the client says of its environment, all else of the first call is tools and system.
func TestOpeningInLines(t *testing.T) {
	for shown, want := range map[bool]int64{false: DefaultStatic("2.1.332"), true: 40_000 - 3 - 2} {
		s := newScript("s")
		s.version = "2.1.332"
		s.prompt("go")
		if shown {
			s.add(fields{"type": "attachment", "attachment": fields{"type": "environment"}, "rendered": []fields{{"content": "x"}}})
		}
		u := tokensOf(40_000)
		u["cache_read_input_tokens"], u["cache_creation_input_tokens"] = 0, 39_997
		s.callUsage("m1", u, text("a"))
		got := sessionOf(t, s)
		static := int64(0)
		for _, b := range got.Blocks[got.Threads[0].Prefix.From:got.Threads[0].Prefix.To] {
			if b.Kind.Level() != prompt.LevelMessages {
				static += int64(b.Tokens)
			}
		}
		if static != want {
			t.Errorf("environment shown %v: %d tokens of tools and system, want %d", shown, static, want)
		}
	}
}
