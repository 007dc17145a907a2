package live

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// faults returns what the Messages API would refuse of messages.
func faults(list []Message) []string {
	var found []string
	fault := func(s string) { found = append(found, s) }
	if len(list) == 0 || list[0].Role != roleUser || list[len(list)-1].Role != roleUser {
		fault("a message of the user must be the first and the last")
	}
	var open []string
	for i, m := range list {
		if len(m.Content) == 0 {
			fault("an empty message")
		}
		if i > 0 && list[i-1].Role == m.Role {
			fault("roles do not alternate")
		}
		want := open
		open = nil
		for j, b := range m.Content {
			switch b.Type {
			case typeUse:
				open = append(open, b.ID)
			case typeResult:
				if j >= len(want) || want[j] != b.ToolUseID {
					fault("a result that answers no call just ahead, or stands behind text")
				}
			case typeText:
				if strings.TrimSpace(b.words()) == "" {
					fault("empty text")
				}
				if j < len(want) {
					fault("a call without a result")
				}
			}
		}
		if len(m.Content) < len(want) {
			fault("a call without a result")
		}
	}
	return found
}

// Whatever is left of a conversation, in whatever order, what goes out is a
// request the API takes, and every result that has its call is in it.
func TestPair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var blocks []placed
		calls, results := map[string]bool{}, map[string]bool{}
		for i := range rapid.IntRange(0, 30).Draw(rt, "blocks") {
			id := strconv.Itoa(rapid.IntRange(0, 6).Draw(rt, "id"))
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				blocks = append(blocks, placed{at: i, role: roleUser, block: Text("u")})
			case 1:
				blocks = append(blocks, placed{at: i, role: roleAssistant, block: Text("a")})
			case 2:
				blocks = append(blocks, placed{at: i, role: roleAssistant, block: useBlock(id, "", nil)})
				calls[id] = true
			case 3:
				blocks = append(blocks, placed{at: i, role: roleUser, block: resultBlock(id, "r"+id, false)})
				results[id] = true
			}
		}
		list := messages(alternate(pair(blocks)))
		if f := faults(list); f != nil {
			rt.Fatalf("%v in %+v", f, list)
		}
		answered, stubs := 0, 0
		for _, m := range list {
			for _, b := range m.Content {
				switch {
				case b.Type != typeResult:
				case b.words() == missingResult:
					stubs++
				default:
					answered++
				}
			}
		}
		want := 0
		for id := range results {
			if calls[id] {
				want++
			}
		}
		if answered != want || stubs+answered != len(calls) {
			rt.Fatalf("%d results and %d stubs for %d calls, %d of them answered", answered, stubs, len(calls), want)
		}
	})
}

// Results of one message keep the order of their calls; the turns of a
// conversation are not run together.
func TestPairKeepsTurns(t *testing.T) {
	use := func(at int, id string) placed {
		return placed{at: at, role: roleAssistant, block: useBlock(id, "", nil)}
	}
	result := func(at int, id string) placed {
		return placed{at: at, role: roleUser, block: resultBlock(id, id, false)}
	}
	out := pair([]placed{use(0, "a"), use(1, "b"), result(2, "b"), result(3, "a"), use(4, "c"), result(5, "c"), result(6, "lost")})
	var got []string
	for _, p := range out {
		got = append(got, p.block.Type+" "+p.block.ID+p.block.ToolUseID)
	}
	want := "tool_use a, tool_use b, tool_result a, tool_result b, tool_use c, tool_result c"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}
