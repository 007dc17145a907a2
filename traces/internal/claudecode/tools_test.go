package claudecode

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/signs"
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

// What the client says of who caused a call and a text: the skill and plugin of the last line of a response count where the first
// has none, the output of a hook and a file of instructions have their names, and a sub-agent has the kind that its
// call names.
func TestWhoCausedIt(t *testing.T) {
	s := newScript("s")
	s.prompt("go")
	s.add(fields{"type": "attachment", "attachment": fields{"type": "hook_additional_context", "hookName": "UserPromptSubmit", "hookEvent": "UserPromptSubmit", "content": []string{words(30)}}})
	s.add(fields{"type": "attachment", "attachment": fields{"type": "nested_memory", "path": "/p/CLAUDE.md", "content": fields{"content": words(40)}}})
	s.call("m1", 20_000, text("a"))
	for i := range s.lines {
		if strings.Contains(s.lines[i], `"m1"`) {
			s.lines[i] = strings.Replace(s.lines[i], "{", `{"attributionSkill":"review","attributionPlugin":"quality",`, 1)
		}
	}
	s.call("m2", 20_100, use("t1", "Agent", fields{"subagent_type": "Explore", "prompt": "look"}))
	sub := *s
	sub.lines, sub.agent, sub.head = nil, "a1", ""
	sub.prompt("look")
	sub.call("m3", 9000, text("found"))
	s.lines = append(s.lines, sub.lines...)
	s.result("t1", words(10))
	s.call("m4", 20_300, text("done"))
	got := sessionOf(t, s)
	main := &got.Threads[0]
	if r := &main.Rounds[0]; got.Named(signs.NameSkill, r.Skill) != "review" || got.Named(signs.NamePlugin, r.Plugin) != "quality" {
		t.Errorf("skill %q, plugin %q, names %q", got.Named(signs.NameSkill, r.Skill), got.Named(signs.NamePlugin, r.Plugin), got.Tools)
	}
	if r := &main.Rounds[1]; r.Skill != 0 || r.Plugin != 0 {
		t.Errorf("the second call has a skill: %+v", r)
	}
	seen := map[string]prompt.Kind{}
	for _, b := range got.Blocks {
		for _, k := range []signs.NameKind{signs.NameHook, signs.NameMemory} {
			if name := got.Named(k, b.Tool); name != "" {
				seen[name] = b.Kind
			}
		}
	}
	if len(seen) != 2 || seen["UserPromptSubmit"] != prompt.KindAttachment || seen["/p/CLAUDE.md"] != prompt.KindAttachment {
		t.Errorf("named blocks: %v", seen)
	}
	if len(got.Threads) != 2 || got.Threads[1].AgentType != "Explore" || main.AgentType != "" {
		t.Errorf("threads %+v", got.Threads)
	}
}
