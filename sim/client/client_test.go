package client

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

func context(kinds ...prompt.Kind) []prompt.Entry {
	c := new(prompt.Context)
	c.Reset(nil, new(prompt.Arena))
	for i, k := range kinds {
		c.Add(prompt.Block{Kind: k, Tokens: 10, Digest: prompt.Digest{Hi: 1, Lo: uint64(i)}})
	}
	return c.Seal()
}

// Raw captures of 1.0.62 carry markers on the system prompt, the last block of
// the second-to-last message and the last block of the last; later clients one on
// messages, and forks that must not write put it on the second-to-last.
func TestMarkers(t *testing.T) {
	entries := context(prompt.KindTools, prompt.KindSystem, prompt.KindReminder, prompt.KindPrompt,
		prompt.KindText, prompt.KindToolUse, prompt.KindToolResult, prompt.KindToolResult)
	for _, tc := range []struct {
		version string
		marks   Marks
		want    []int32
	}{
		{"1.0.62", Marks{}, []int32{1, 5, 7}},
		{"2.1.25", Marks{}, []int32{1, 7}},
		{"2.1.25", Marks{SecondToLast: true}, []int32{1, 5}},
		{"", Marks{}, []int32{1, 7}},
	} {
		var got []int32
		for _, m := range ForVersion(tc.version).Mark(nil, entries, tc.marks) {
			got = append(got, m.Position)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("version %q %+v: markers at %v, want %v", tc.version, tc.marks, got, tc.want)
		}
	}
}

// Cline 3.0.65 marks the newest prompt alone: findings/cline-caches-up-to-the-typed-prompt.sh counts the bytes behind it.
func TestMarkerOfThePrompt(t *testing.T) {
	entries := context(prompt.KindTools, prompt.KindSystem, prompt.KindPrompt, prompt.KindToolUse, prompt.KindToolResult,
		prompt.KindPrompt, prompt.KindText, prompt.KindToolUse, prompt.KindToolResult)
	c := Marking(1, facts.SizeInput)
	c.MarksPrompt = true
	var got []int32
	for _, m := range c.Mark(nil, entries, Marks{}) {
		got = append(got, m.Position)
	}
	if want := []int32{1, 5}; !slices.Equal(got, want) {
		t.Errorf("markers at %v, want %v: the system prompt's and the second prompt's", got, want)
	}
}

// Thinking cannot carry a marker: an answer that was interrupted after it is
// marked before it (provider's page).
func TestMarkersPassThinking(t *testing.T) {
	entries := context(prompt.KindSystem, prompt.KindPrompt, prompt.KindText, prompt.KindThinking, prompt.KindPrompt)
	got := ForVersion("2.1.25").Mark(nil, entries, Marks{SecondToLast: true})
	if len(got) != 2 || got[1].Position != 2 {
		t.Errorf("markers %+v, want the second at 2", got)
	}
}

// A summary that is read back has a marker beside the recorded ones, unless a request has four already.
func TestMarkersBesideRecorded(t *testing.T) {
	entries := context(prompt.KindSystem, prompt.KindSummary, prompt.KindPrompt, prompt.KindText, prompt.KindToolUse, prompt.KindToolResult)
	c := &ClaudeCode{AsRecorded: true, MarksSummary: true}
	for _, tc := range []struct{ recorded, want []int32 }{{[]int32{0}, []int32{1, 5}}, {[]int32{0, 1, 2, 3}, []int32{2, 3, 4, 5}}} {
		var recorded traces.Breakpoints
		var got []int32
		for _, behind := range slices.Backward(tc.recorded) {
			recorded.Add(traces.Breakpoint{Level: prompt.LevelMessages, Start: true, Block: uint16(5 - behind)})
		}
		for _, m := range c.Mark(nil, entries, Marks{Recorded: &recorded}) {
			got = append(got, m.Position)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("recorded %v: markers at %v, want %v", tc.recorded, got, tc.want)
		}
	}
}

func TestMarkersOfShortRequests(t *testing.T) {
	c := ForVersion("1.0.62")
	if got := c.Mark(nil, context(prompt.KindPrompt), Marks{TTL: exchange.TTL1h}); len(got) != 1 || got[0].Position != 0 || got[0].TTL != exchange.TTL1h {
		t.Errorf("one message: %+v", got)
	}
	if got := c.Mark(nil, context(prompt.KindSystem, prompt.KindPrompt, prompt.KindText), Marks{}); len(got) != 3 || got[1].Position != 1 {
		t.Errorf("two messages of a block each: %+v", got)
	}
	if got := c.Mark(nil, context(prompt.KindSystem, prompt.KindThinking), Marks{}); len(got) != 1 || got[0].Position != 0 {
		t.Errorf("thinking alone: %+v", got)
	}
	if got := c.Mark(nil, context(prompt.KindSystem), Marks{}); len(got) != 1 {
		t.Errorf("system only: %+v", got)
	}
	if got := c.Mark(nil, nil, Marks{}); len(got) != 0 {
		t.Errorf("empty request: %+v", got)
	}
	if got := ForVersion("2.1.25").Mark(nil, context(prompt.KindSystem, prompt.KindPrompt), Marks{SecondToLast: true}); len(got) != 1 {
		t.Errorf("no second-to-last message: %+v", got)
	}
}

// The client's estimate: a quarter of the bytes, in the documents padded by a
// third of the sum and rounded up once; media count 2,000, and a bare string as any text.
func TestEstimate(t *testing.T) {
	plain := ForVersion("2.1.17").Count
	padded := plain
	padded.Unpadded = false
	for _, tc := range []struct {
		block         prompt.Block
		plain, padded int64
	}{
		{prompt.Block{Kind: prompt.KindToolResult, Bytes: 1200}, 300, 400},
		{prompt.Block{Kind: prompt.KindToolResult, Bytes: 4}, 1, 2},
		{prompt.Block{Kind: prompt.KindToolResult, Bytes: 0}, 0, 0},
		{prompt.Block{Kind: prompt.KindImage, Bytes: 9e6, Flags: prompt.FlagImage}, 2000, 2667},
		// 001:1002-1016: a text of 4,000 with one image, and with three
		{prompt.Block{Kind: prompt.KindToolResult, Bytes: 4000, Flags: prompt.Flags(0).WithImages(1)}, 3000, 4000},
		{prompt.Block{Kind: prompt.KindToolResult, Bytes: 4000, Flags: prompt.Flags(0).WithImages(3)}, 7000, 9333 + 1},
		{prompt.Block{Kind: prompt.KindPrompt, Bytes: 1200, Flags: prompt.FlagString}, 300, 400},
		{prompt.Block{Kind: prompt.KindPrompt, Bytes: 1200}, 300, 400},
		{prompt.Block{Kind: prompt.KindUnseen, Tokens: 5000}, 0, 0},
		{prompt.Block{Kind: prompt.KindSystem, Bytes: 40000}, 0, 0},
		{prompt.Block{Kind: prompt.KindTools, Bytes: 60000}, 0, 0},
	} {
		if got := plain.Block(&tc.block, nil); got != tc.plain {
			t.Errorf("%v of %d bytes: %d tokens, want %d", tc.block.Kind, tc.block.Bytes, got, tc.plain)
		}
		if got := padded.Pad(padded.Block(&tc.block, nil), ""); got != tc.padded {
			t.Errorf("%v of %d bytes: %d padded tokens, want %d", tc.block.Kind, tc.block.Bytes, got, tc.padded)
		}
	} // Three blocks of 4 bytes are 3 tokens, padded 4; padded each, they were 6.
	four := prompt.Block{Kind: prompt.KindToolResult, Bytes: 4}
	if got := padded.Pad(3*padded.Block(&four, nil), ""); got != 4 {
		t.Errorf("three blocks of a token: %d padded, want 4", got)
	}
}

// 002:22: "Tool use blocks count the tool name plus JSON-serialized input": the 21 bytes
// of {"command":"ls -la"} and the 4 of Bash are 25, 7 tokens; without the name 6.
func TestCallsCountWithTheirName(t *testing.T) {
	c := ForVersion("2.1.17").Count
	use := prompt.Block{Kind: prompt.KindToolUse, Bytes: 21, Tool: 1}
	tools := []string{"", "Bash"}
	if named, bare := c.Block(&use, tools), c.Block(&use, nil); named != 7 || bare != 6 {
		t.Errorf("%d tokens with the name, %d without, want 7 and 6", named, bare)
	}
	c.DenseInput = true // 003: two bytes a token of the input alone: 11, and the name 1
	if got := c.Block(&use, tools); got != 12 {
		t.Errorf("%d tokens of a dense input, want 12", got)
	}
	result := prompt.Block{Kind: prompt.KindToolResult, Bytes: 40, Tool: 1}
	if got := c.Block(&result, tools); got != 10 {
		t.Errorf("%d tokens of a result, want 10: it has no name", got)
	}
}

// What a version counts, as the token counts logged at compactions show it. Of
// the three with one last response and one result each: 2.1.1 logged its output
// and not the 1,237 bytes behind it; 2.1.17 a logged output of 3 and 4,604 bytes
// as 3 + 1,151; 2.1.49 the whole output of a last text.
func TestCountingByVersion(t *testing.T) {
	for version, want := range map[string]Counting{
		"1.0.62":  {StringIsFree: true, Unpadded: true},
		"2.1.1":   {Unpadded: true},
		"2.1.5":   {Unpadded: true, Trailing: true},
		"2.1.17":  {Unpadded: true, Trailing: true, LoggedOutput: true},
		"2.1.29":  {Unpadded: true, Trailing: true, LoggedOutput: true},
		"2.1.49":  {Unpadded: true, Trailing: true},
		"2.1.276": {Unpadded: true, Trailing: true},
		"2.1.277": {Unpadded: true, Trailing: true, PadsLarge: true},
		"":        {Unpadded: true, Trailing: true, PadsLarge: true},
	} {
		if got := ForVersion(version).Count; got != want {
			t.Errorf("%q: %+v, want %+v", version, got, want)
		}
	}
}

func TestWindow(t *testing.T) {
	c := ForVersion("2.1.25")
	for model, want := range map[string]int64{"claude-opus-4-6": 200_000, "claude-opus-4-6[1m]": 1_000_000} {
		if got := c.Window(model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
}
