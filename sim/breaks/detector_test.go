package breaks

import (
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
)

const second = int64(1e9)

// after is a call that reads n tokens, gap seconds after a response that ended
// at 10 s.
func after(gap, n int64) Call {
	return Call{Model: "claude-opus-4-6", At: (10 + gap) * second, End: (15 + gap) * second, Read: n}
}

// The flow of seed 000 (000:573-600): 45,000 → 6,200 is a break; what changed is
// the reason, else the pause.
func TestDetector(t *testing.T) {
	state := State{SystemText: 1, SystemChars: 100, SystemMarkers: 2, Tools: 3, EachTool: []Tool{{"Read", 1}}, Effort: "high", Betas: []string{"a"}}
	for _, test := range []struct {
		name string
		from int64
		call Call
		edit func(*Call)
		want confusion.Reason
		says string
	}{
		{"the seed's example", 45000, after(20, 6200), nil, confusion.Server, "likely server side (prompt unchanged, pause below 5 minutes)"},
		{"system prompt +142 characters", 45000, after(20, 6200), func(c *Call) { c.State.SystemText, c.State.SystemChars = 9, 242 }, confusion.State, "system prompt changed"},
		{"model first, then all others", 45000, after(20, 6200), func(c *Call) {
			c.Model, c.State.Effort, c.State.EachTool = "claude-sonnet-4-6", "low", []Tool{{"Read", 2}}
		}, confusion.Model, "model, tools, effort changed"},
		{"a change explains more than a pause", 45000, after(4000, 0), func(c *Call) { c.State.SystemMarkers = 9 }, confusion.State, "cache markers changed"},
		{"a header", 45000, after(20, 0), func(c *Call) { c.State.Betas = []string{"a", "b"} }, confusion.State, "beta headers changed"},
		{"unknown is no change", 45000, after(20, 0), func(c *Call) { c.State = State{} }, confusion.Server, "likely server side (prompt unchanged, pause below 5 minutes)"},
		{"5 minutes to the second", 45000, after(300, 0), nil, confusion.Server, "likely server side (prompt unchanged, pause below 5 minutes)"},
		{"past 5 minutes", 45000, after(301, 0), nil, confusion.Expiry5m, "possible expiry after 5 minutes"},
		{"past an hour", 45000, after(3601, 0), nil, confusion.Expiry1h, "possible expiry after an hour"},
		{"without time", 45000, Call{Model: "claude-opus-4-6"}, nil, confusion.Unknown, "prompt unchanged, length of the pause not known"},
		{"a clock that runs back", 45000, after(-8, 0), nil, confusion.Unknown, "prompt unchanged, length of the pause not known"},
		{"2,000 tokens are none", 10000, after(20, 8000), nil, confusion.None, "none"},
		{"2,001 are", 10000, after(20, 7999), nil, confusion.Server, "likely server side (prompt unchanged, pause below 5 minutes)"},
		{"5 % are none", 100000, after(20, 95000), nil, confusion.None, "none"},
		{"more than 5 % are", 100000, after(20, 94999), nil, confusion.Server, "likely server side (prompt unchanged, pause below 5 minutes)"},
		{"a rise", 45000, after(20, 60000), nil, confusion.None, "none"},
		{"compaction resets the baseline", 45000, after(20, 0), func(c *Call) { c.Compacted = true }, confusion.Compacted, "compacted"},
		{"deletions are expected", 45000, after(20, 6200), func(c *Call) { c.Deleted = 38800 }, confusion.Deleted, "deleted"},
		{"what the client cleared is expected", 45000, after(20, 6200), func(c *Call) { c.Cleared = true }, confusion.Deleted, "deleted"},
		{"small models are not watched", 45000, after(20, 0), func(c *Call) { c.Model = "claude-haiku-4-5-20251001" }, confusion.Excluded, "excluded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := Call{Model: "claude-opus-4-6", At: 5 * second, End: 10 * second, Read: test.from, State: state}
			c := test.call
			c.State = state
			if test.edit != nil {
				test.edit(&c)
			}
			var d Detector
			if v := d.See(&before); v.Reason != confusion.First {
				t.Fatalf("the first call is %q", v.Reason)
			}
			v := d.See(&c)
			if v.Reason != test.want || v.Text() != test.says {
				t.Errorf("%s, %q; want %s, %q", v.Reason, v.Text(), test.want, test.says)
			}
			if v.Broke() != (test.want >= confusion.Model) {
				t.Errorf("broke: %v", v.Broke())
			}
		})
	}
}

// What changed is named with its values, in the words of the client where it has
// some (000:591, 614-618).
func TestDifferences(t *testing.T) {
	before := State{
		SystemText: 1, SystemChars: 1000, SystemMarkers: 2, TTL: "1h", Tools: 3, EachTool: []Tool{{"Read", 1}, {"Edit", 1}},
		Betas: []string{"a"}, Effort: "high", FastMode: Off, ExtraBodyParams: 4,
	}
	for says, edit := range map[string]func(*Call){
		"model changed (claude-sonnet-4-5 → claude-opus-4-6)": func(c *Call) { c.Model = "claude-opus-4-6" },
		"system prompt changed (+142 chars)":                  func(c *Call) { c.State.SystemText, c.State.SystemChars = 2, 1142 },
		"system prompt changed (-10 chars)":                   func(c *Call) { c.State.SystemText, c.State.SystemChars = 2, 990 },
		"tools changed (+1/-0 tools: +Bash)": func(c *Call) {
			c.State.EachTool = []Tool{{"Read", 1}, {"Edit", 1}, {"Bash", 1}}
		},
		"tools changed (+1/-1 tools: +Bash, -Edit, Read redefined)": func(c *Call) { c.State.EachTool = []Tool{{"Read", 2}, {"Bash", 1}} },
		"tools changed":                          func(c *Call) { c.State.Tools, c.State.EachTool = 9, nil },
		"cache markers changed (TTL 1h → 5m)":    func(c *Call) { c.State.SystemMarkers, c.State.TTL = 9, "5m" },
		"cache markers changed (scope or place)": func(c *Call) { c.State.SystemMarkers = 9 },
		"beta headers changed (a → a, b)":        func(c *Call) { c.State.Betas = []string{"a", "b"} },
		"beta headers changed (a → none)":        func(c *Call) { c.State.Betas = []string{} },
		"extra body changed":                     func(c *Call) { c.State.ExtraBodyParams = 5 },
		"fast mode changed (off → on); effort changed (high → low)": func(c *Call) {
			c.State.FastMode, c.State.Effort = On, "low"
		},
	} {
		d := Detector{OldAndNew: true}
		a, b := after(0, 45000), after(20, 6200)
		a.Model, b.Model = "claude-sonnet-4-5", "claude-sonnet-4-5"
		a.State, b.State = before, before
		edit(&b)
		d.See(&a)
		if v := d.See(&b); v.Text() != says {
			t.Errorf("%q, want %q", v.Text(), says)
		}
	}
}

// The count of deleted tokens is cumulative: without the value of the call
// before as a baseline every later fall would pass as expected (facts, B4).
func TestDeletedTokensAreCumulative(t *testing.T) {
	var d Detector
	for i, step := range []struct {
		read, deleted int64
		want          confusion.Reason
	}{
		{90000, 0, confusion.First},
		{50000, 40000, confusion.Deleted},
		{60000, 40000, confusion.None},
		{9000, 40000, confusion.Server}, // nothing new was deleted
		{60000, 40000, confusion.None},
		{9000, 90000, confusion.Deleted},
	} {
		c := after(int64(20*i), step.read)
		c.Deleted = step.deleted
		if v := d.See(&c); v.Reason != step.want {
			t.Errorf("call %d: %s, want %s", i, v.Reason, step.want)
		}
	}
}

// Without the count of deleted tokens as a baseline the fall that a deletion
// makes is a break, of which the prompt knows nothing (002:56). What the client
// has cleared it registers itself.
func TestWithoutTheDeletedBaseline(t *testing.T) {
	for _, step := range []struct {
		baseline, cleared bool
		want              confusion.Reason
	}{{true, false, confusion.Deleted}, {false, false, confusion.Server}, {false, true, confusion.Deleted}} {
		rules := DefaultRules()
		rules.DeletedBaseline = step.baseline
		d := Detector{Rules: &rules}
		a, b := after(0, 45000), after(20, 6200)
		b.Deleted, b.Cleared = 38800, step.cleared
		d.See(&a)
		if v := d.See(&b); v.Reason != step.want {
			t.Errorf("baseline %v, cleared %v: %s, want %s", step.baseline, step.cleared, v.Reason, step.want)
		}
	}
}

// Other thresholds than the client's: both must be passed, in tokens and as a
// share.
func TestRules(t *testing.T) {
	for _, test := range []struct {
		rules Rules
		want  bool
	}{
		{Rules{MinDrop: 999, MinShare: 0.09}, true},
		{Rules{MinDrop: 1000, MinShare: 0.09}, false},
		{Rules{MinDrop: 999, MinShare: 0.1}, false},
		{Rules{}, true},
	} {
		d := Detector{Rules: &test.rules}
		a, b := after(0, 10000), after(20, 9000)
		d.See(&a)
		if v := d.See(&b); v.Broke() != test.want {
			t.Errorf("%+v: %s", test.rules, v.Reason)
		}
	}
	bad := Rules{MinDrop: -1, MinShare: 1.5}
	if errs := spec.Validate(bad); len(errs) != 2 {
		t.Errorf("%v, want two problems", errs)
	}
}

// After a compaction the next fall is measured against the call behind it.
func TestCompactionResets(t *testing.T) {
	var d Detector
	for i, step := range []struct {
		read      int64
		compacted bool
		want      confusion.Reason
	}{{160000, false, confusion.First}, {17000, true, confusion.Compacted}, {50000, false, confusion.None}, {17000, false, confusion.Server}} {
		c := after(int64(20*i), step.read)
		c.Compacted = step.compacted
		if v := d.See(&c); v.Reason != step.want {
			t.Errorf("call %d: %s, want %s", i, v.Reason, step.want)
		}
	}
}

// A summary call is compared with the conversation, a sub-agent with itself.
func TestSources(t *testing.T) {
	var d Detector
	main := after(0, 160000)
	agent := Call{Source: measures.SourceAgent, Thread: 1, At: 12 * second, End: 13 * second}
	compact := after(20, 0)
	compact.Source = measures.SourceCompact
	for i, step := range []struct {
		call *Call
		want confusion.Reason
	}{{&main, confusion.First}, {&agent, confusion.First}, {&compact, confusion.Server}} {
		if v := d.See(step.call); v.Reason != step.want {
			t.Errorf("call %d: %s, want %s", i, v.Reason, step.want)
		}
	}
	d.Reset()
	if v := d.See(&main); v.Reason != confusion.First {
		t.Errorf("after a reset: %s", v.Reason)
	}
}

// A small model between two calls of the conversation leaves its baseline alone.
func TestExcludedLeavesTheBaseline(t *testing.T) {
	var d Detector
	a, small, b := after(0, 45000), after(10, 0), after(20, 44000)
	small.Model = "claude-haiku-4-5"
	d.See(&a)
	d.See(&small)
	if v := d.See(&b); v.Reason != confusion.None || v.Changed != 0 {
		t.Errorf("%s, changed %s", v.Reason, v.Changed)
	}
}

func TestFieldNames(t *testing.T) {
	if s := Fields(1<<confusion.FieldEffort | 1<<confusion.FieldModel).String(); s != "model, effort" {
		t.Errorf("%q", s)
	}
	for r := range confusion.Reason(confusion.NumReasons) {
		if r.String() == "" {
			t.Errorf("reason %d has no name", r)
		}
	}
}
