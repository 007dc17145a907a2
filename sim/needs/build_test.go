package needs

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/tools/tests/needstest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// other is text around what a test is about: without it everything stands everywhere.
func other(t *needstest.Talk, n int) {
	for i := range n {
		t.Call("Bash", fmt.Sprintf(`{"command":"step-%d"}`, i), fmt.Sprintf("unrelated_%d output_of_step_%d", i, i))
	}
}

func build(t *testing.T, talk *needstest.Talk) (*Index, *traces.Session) {
	t.Helper()
	c, s := talk.Read(t)
	x, err := Build(context.Background(), c, s)
	if err != nil {
		t.Fatal(err)
	}
	return x, s
}

// of returns the needs of a kind.
func of(x *Index, kind recall.NeedKind) (list []Need) {
	for _, n := range x.Thread(0) {
		if n.Kind == kind {
			list = append(list, n)
		}
	}
	return list
}

// source returns the kind and the tool of the latest block in which a need is found.
func source(x *Index, s *traces.Session, n *Need) (prompt.Kind, string) {
	b := &s.Blocks[x.Places(n)[0].Block]
	return b.Kind, s.Tools[b.Tool]
}

// The text that an edit replaces stands in the file that was read, numbers of lines aside; the file can be read
// again until it is changed.
func TestEditUsesWhatWasRead(t *testing.T) {
	var talk needstest.Talk
	talk.Person("fix the sum")
	talk.Call("Read", `{"file_path":"/p/sum.go"}`,
		"    11→func sum(a, b int) int {\n    12→\treturn a - b // wrong\n    13→}\n")
	other(&talk, 12)
	talk.Call("Edit", `{"file_path":"/p/sum.go","new_string":"x",`+
		`"old_string":"func sum(a, b int) int {\n\treturn a - b // wrong"}`, "done")
	x, s := build(t, &talk)
	list := of(x, recall.NeedEdit)
	if len(list) != 1 {
		t.Fatalf("%d needs of kind edit, want 1", len(list))
	}
	n := &list[0]
	kind, tool := source(x, s, n)
	if kind != prompt.KindToolResult || tool != "Read" || n.Fetch != x.Places(n)[0].Block || n.Round != 13 {
		t.Errorf("found in a %s of %s, fetch %d, round %d; want the result of Read, which can be fetched, used in round 13",
			kind, tool, n.Fetch, n.Round)
	}
	if n.Weight != 1000 {
		t.Errorf("weight %d, want 1000: one block shows it", n.Weight)
	}
}

// A call that makes several edits uses the text that each edit replaces, and nothing else of what is in them.
func TestSeveralEditsInOneCall(t *testing.T) {
	var talk needstest.Talk
	talk.Person("fix the sum")
	talk.Call("Read", `{"file_path":"/p/sum.go"}`, "11→func sumOfAll(a, b int) int {\n12→\treturn a - b // wrong_sign\n13→}\n")
	other(&talk, 12)
	talk.Call("MultiEdit", `{"file_path":"/p/sum.go","edits":[{"old_string":"func sumOfAll(a, b int) int {","new_string":"x"},`+
		`{"old_string":"\treturn a - b // wrong_sign","new_string":"y"}]}`, "done")
	x, s := build(t, &talk)
	list := of(x, recall.NeedEdit)
	if len(list) != 2 || len(of(x, recall.NeedName)) != 0 {
		t.Fatalf("%d needs of kind edit and %d names, want 2 and none", len(list), len(of(x, recall.NeedName)))
	}
	for i := range list {
		if kind, tool := source(x, s, &list[i]); kind != prompt.KindToolResult || tool != "Read" {
			t.Errorf("found in a %s of %s, want the result of Read", kind, tool)
		}
	}
}

// An edit whose text is found nowhere is no need.
func TestEditFoundNowhere(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	other(&talk, 6)
	talk.Fails("Edit", `{"file_path":"/p/x.go","old_string":"never seen before by anyone","new_string":"y"}`,
		"String to replace not found")
	x, _ := build(t, &talk)
	if n := len(of(x, recall.NeedEdit)); n != 0 {
		t.Errorf("%d needs, want none", n)
	}
}

// Each kind of string is found where it was first said, and not where the model said it first itself.
func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		name          string
		said, command string
		kind          recall.NeedKind
		want          int
	}{
		{"a path by its end", "ls: /p/internal/cache/store.go", "vet internal/cache/store.go", recall.NeedPath, 1},
		{"the same name in another folder", "ls: /p/internal/cache/store.go", "vet other/list.go", recall.NeedPath, 0},
		{"an identifier", "undefined: frobnicateAll", "grep frobnicateAll", recall.NeedName, 1},
		{"an identifier beyond ASCII", "undefined: größeBerechnen", "grep größeBerechnen", recall.NeedName, 1},
		{"a plain word", "this is what follows", "echo what follows", recall.NeedName, 0},
		{"a number", "listening on port 48731", "curl :48731", recall.NeedNumber, 1},
		{"an address", "see https://example.org/a?b=1", "curl https://example.org/a?b=1", recall.NeedURL, 1},
		{"its own invention", "nothing of use", "mkdir scratch_dir_9", recall.NeedName, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var talk needstest.Talk
			talk.Person("go on")
			talk.Call("Bash", `{"command":"first"}`, tt.said)
			other(&talk, 10)
			talk.Call("Bash", `{"command":`+strconv.Quote(tt.command)+`}`, "ok")
			x, s := build(t, &talk)
			list := of(x, tt.kind)
			list = slices.DeleteFunc(list, func(n Need) bool { return n.Round != 11 })
			if len(list) != tt.want {
				t.Fatalf("%d needs of kind %s in round 11, want %d", len(list), tt.kind, tt.want)
			}
			for i := range list {
				if kind, _ := source(x, s, &list[i]); kind != prompt.KindToolResult {
					t.Errorf("found in a %s, want a tool_result", kind)
				}
			}
		})
	}
}

// What a person said is used like what a result showed, the line of a failure in a search for it, an item of a plan
// when it is taken up.
func TestOtherSources(t *testing.T) {
	var talk needstest.Talk
	talk.Person("the flag is --keepAliveWindow. Never push to main.")
	talk.Call("TodoWrite", `{"todos":[{"content":"write the parser first","status":"pending"}]}`, "ok")
	talk.Fails("Bash", `{"command":"make"}`, "ld: cannot find symbol __zap in section")
	other(&talk, 10)
	talk.Call("Grep", `{"pattern":"ld: cannot find symbol __zap in section"}`, "none")
	talk.Call("Bash", `{"command":"run --keepAliveWindow"}`, "ok")
	talk.Call("TodoWrite", `{"todos":[{"content":"write the parser first","status":"in_progress"}]}`, "ok")
	x, s := build(t, &talk)
	for kind, want := range map[recall.NeedKind]prompt.Kind{
		recall.NeedError: prompt.KindToolResult, recall.NeedTask: prompt.KindToolUse, recall.NeedName: prompt.KindPrompt,
	} {
		list := of(x, kind)
		if i := slices.IndexFunc(list, func(n Need) bool { k, _ := source(x, s, &n); return k == want }); i < 0 {
			t.Errorf("no need of kind %s found in a %s among %d", kind, want, len(list))
		}
	}
	if len(x.directives) != 1 {
		t.Errorf("%d directives, want that on main alone", len(x.directives))
	}
}

// A file that is read again as it was is a need of its content; behind an edit it is another file.
func TestReadAgain(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	read := func() { talk.Call("Read", `{"file_path":"/p/a.go"}`, "1→package alpha_beta\n") }
	read()
	other(&talk, 6)
	read()
	talk.Call("Edit", `{"file_path":"/p/a.go","old_string":"package alpha_beta","new_string":"package gamma"}`, "done")
	read()
	x, _ := build(t, &talk)
	list := of(x, recall.NeedRead)
	if len(list) != 1 || list[0].Round != 7 || list[0].Weight != 1000 {
		t.Errorf("%+v, want the read of round 7 alone", list)
	}
}

// What stands everywhere is no need: the weight falls with the number of blocks that have it.
func TestRarity(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	for range 20 {
		talk.Call("Bash", `{"command":"poke common_name_x"}`, "common_name_x said rare_name_y once")
	}
	talk.Call("Bash", `{"command":"use common_name_x"}`, "ok")
	x, _ := build(t, &talk)
	if list := x.Thread(0); len(list) != 0 {
		t.Errorf("%d needs, want none: the name stands in all blocks", len(list))
	}
}

// A call that reads without naming a file in the way its reader knows (an image that is viewed, an argument of another
// name) has no object: what it names is a need like any other, whether the session has objects or not.
func TestReadWithoutAnObject(t *testing.T) {
	for _, tt := range []struct {
		name, tool, input, result string
		want                      int
	}{
		{"no file was read, a listing names it", "Bash", `{"command":"ls"}`, "/p/art/cover.png", 1},
		{"no file was read, the model names it", "Bash", `{"command":"draw /p/art/cover.png"}`, "done", 0},
		{"another file was read, which names it", "Read", `{"file_path":"/p/list.txt"}`, "1→/p/art/cover.png", 1},
	} {
		var talk needstest.Talk
		talk.Person("look at the picture")
		talk.Call(tt.tool, tt.input, tt.result)
		other(&talk, 12)
		talk.Call("Read", `{"filePath":"/p/art/cover.png"}`, "ok")
		x, _ := build(t, &talk)
		if n := len(of(x, recall.NeedPath)); n != tt.want {
			t.Errorf("%s: %d needs of kind path, want %d", tt.name, n, tt.want)
		}
	}
	// A file that was read is the first object, and no other one.
	var talk needstest.Talk
	talk.Person("look at the picture")
	talk.Call("Read", `{"file_path":"/p/list.txt"}`, "1→nothing")
	talk.Call("Bash", `{"command":"draw /p/art/cover.png"}`, "done")
	other(&talk, 12)
	talk.Call("Read", `{"filePath":"/p/art/cover.png"}`, "ok")
	x, _ := build(t, &talk)
	if n := len(of(x, recall.NeedPath)); n != 0 {
		t.Errorf("%d needs of kind path, want none: the model named the file itself", n)
	}
}

// Sessions without a text to look at, binary results and minified code of 10 MB give what they can.
func TestOddInput(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	var none needstest.Talk
	none.Person("hello")
	none.Says("hi")
	if x, _ := build(t, &none); x.Len() != 0 {
		t.Errorf("%d needs of a conversation without calls", x.Len())
	}
	var talk needstest.Talk
	talk.Person("go on")
	var b strings.Builder
	for i := range 1 << 20 {
		fmt.Fprintf(&b, "a%d;", i)
	}
	talk.Call("Bash", `{"command":"cat app.min.js"}`, b.String())
	talk.Call("Bash", `{"command":"cat image.png"}`, strings.Repeat("\uFFFD\x00\x01", 1<<16))
	other(&talk, 10)
	talk.Call("Bash", `{"command":"grep a54321"}`, "ok")
	if x, _ := build(t, &talk); x.Len() == 0 {
		t.Error("nothing is used")
	}
}

// An index made while sessions are read equals the index of their texts read again: over the samples of all agents.
func TestListenerHearsWhatIsReadAgain(t *testing.T) {
	ctx := context.Background()
	c, err := agents.ReadFS(ctx, traces.Options{Listener: NewListener()}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	needs := 0
	for _, s := range c.Sessions {
		heard := s.Index.(*Index)
		s.Index = nil
		again, err := Build(ctx, c, s)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(heard, again) {
			t.Errorf("session %s of %s: %d needs when it was read, %d when it was read again", s.ID, s.Agent, heard.Len(), again.Len())
		}
		needs += heard.Len()
	}
	if needs < 100 {
		t.Errorf("%d needs in all samples", needs)
	}
}
