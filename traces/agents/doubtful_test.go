package agents

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// doubtful is a recording in which something is unclear. It is told in one line, nothing is counted twice, and nothing is
// silently zero.
type doubtful struct {
	name  string
	files map[string][]string // lines by name
	calls int
	bill  prompt.Usage // of all calls
	told  []string     // a part of every line that is told
}

// byAgent are the new readers, whose samples have twelve calls and a compaction.
var byAgent = []string{
	facts.Gemini, facts.Copilot, facts.DSH, facts.Cline, facts.OTel, facts.Requests, facts.ATIF,
}

// span writes a span of OTLP with four counts, from a second to another one.
func span(id, parent, from, to, counts string, more ...string) string {
	n := strings.Fields(counts)
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"` + id + `","parentSpanId":"` + parent + `","name":"chat m","startTimeUnixNano":"178000` + from +
		`000000000","endTimeUnixNano":"178000` + to + `000000000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},` +
		`{"key":"gen_ai.response.model","value":{"stringValue":"claude-opus-4-6"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":` + n[0] + `}},` +
		`{"key":"gen_ai.usage.cache_read.input_tokens","value":{"intValue":` + n[1] + `}},{"key":"gen_ai.usage.cache_write.input_tokens","value":{"intValue":` + n[2] + `}},` +
		`{"key":"gen_ai.usage.output_tokens","value":{"intValue":` + n[3] + `}}` + strings.Join(more, "") + `]}]}]}]}`
}

// exchange writes a request and its response.
func exchange(at, messages, usage string) string {
	return `{"start":178000` + at + `,"end":178000` + at + `.5,"request":{"method":"POST","url":"https://x/v1/messages","body":"{\"model\":\"claude-opus-4-6\",\"messages\":[` + messages +
		`"},"response":{"id":"r` + at + `","model":"claude-opus-4-6","content":[{"type":"text","text":"yes"}],"usage":{` + usage + `}}}`
}

var doubtfuls = []doubtful{
	{
		name:  "a file that two readers could take is read once",
		files: map[string][]string{"a.json": {`{"sessionId":"s","projectHash":"f00d","version":1,"updated_at":"2026-06-01T10:00:00.000Z","messages":[{"id":"u","type":"user","timestamp":"2026-06-01T10:00:00.000Z","content":"look"},{"id":"m","type":"gemini","timestamp":"2026-06-01T10:00:00.000Z","model":"gemini-3-pro","content":"yes","tokens":{"input":100,"output":5,"cached":60,"thoughts":2,"tool":0,"total":107}}]}`}},
		calls: 1, bill: prompt.Usage{Uncached: 40, Read: 60, Output: 7},
		told: []string{"a.json: it may be of Gemini CLI or Cline; it is taken for the first"},
	},
	{
		name: "a trajectory beside the log it was made of is left out",
		files: map[string][]string{
			"job/trajectory.json":    {`{"schema_version":"ATIF-v1.5","session_id":"t","agent":{"name":"a"},"steps":[{"source":"agent","message":"yes","metrics":{"prompt_tokens":10,"completion_tokens":5}}]}`},
			"job/sessions/p/a.jsonl": {claudeLine, claudeReply},
		},
		calls: 1, bill: prompt.Usage{Uncached: 3, Write5m: 20_000, Output: 5},
		told: []string{"the agent's own log is read in its place"},
	},
	{
		name:  "spans without parents are one call",
		files: map[string][]string{"a.jsonl": {span("a", "lost", "0000", "0020", "500 400 90 9"), span("b", "lost too", "0001", "0015", "500 400 90 9")}},
		calls: 1, bill: prompt.Usage{Uncached: 10, Read: 400, Write5m: 90, Output: 9},
		told: []string{"a.jsonl:2: another span reports the call of this span; it is counted once", "shows no messages"},
	},
	{
		name:  "a span that arrives twice is one call",
		files: map[string][]string{"a.jsonl": {span("a", "", "0000", "0005", "500 400 90 9")}, "b.jsonl": {span("a", "", "0000", "0005", "500 400 90 9"), span("b", "", "0010", "0015", "600 490 100 9")}},
		calls: 2, bill: prompt.Usage{Uncached: 20, Read: 890, Write5m: 190, Output: 18},
		told: []string{"b.jsonl: 1 span arrives a second time; each is counted once", "shows no messages"},
	},
	{
		name: "messages of a span that are cut at a limit leave its counts",
		files: map[string][]string{"a.jsonl": {
			span("a", "", "0000", "0005", "500 400 90 9", `,{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"content\":\"look\"}]"}}`),
			span("b", "", "0010", "0015", "600 490 100 9", `,{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"content\":\"look\"},{\"role\":\"us"}}`),
		}},
		calls: 2, bill: prompt.Usage{Uncached: 20, Read: 890, Write5m: 190, Output: 18},
		told: []string{"a.jsonl: 1 span has messages that cannot be read to their end; what is missing counts as unseen"},
	},
	{
		name: "a request that is cut at a limit leaves the counts of its response",
		files: map[string][]string{"a.jsonl": {exchange("0000", `{\"role\":\"user\",\"content\":\"look at the`,
			`"input_tokens":10,"cache_read_input_tokens":400,"cache_creation_input_tokens":90,"output_tokens":9`)}},
		calls: 1, bill: prompt.Usage{Uncached: 10, Read: 400, Write5m: 90, Output: 9},
		told: []string{"a.jsonl: 1 request cannot be read to the end; what is missing counts as unseen"},
	},
	{
		name: "a response that is cut at a limit has no counts",
		files: map[string][]string{"a.jsonl": {
			exchange("0000", `{\"role\":\"user\",\"content\":\"look\"}]}`, `"input_tokens":10,"cache_read_input_tokens":400,"cache_creation_input_tokens":90,"output_tokens":9`),
			`{"start":1780000010,"request":{"model":"claude-opus-4-6","messages":[{"role":"user","content":"look"}]},"response":{"body":"{\"id\":\"r2\",\"model\":\"claude-opus-4-6\",\"content\":[{\"type\":\"te"}}`,
		}},
		calls: 2, bill: prompt.Usage{Uncached: 10, Read: 400, Write5m: 90, Output: 9},
		told: []string{"a.jsonl:2: "},
	},
}

// What is unclear in a recording is told in one line, and the bill has every call once.
func TestDoubtfulFiles(t *testing.T) {
	for _, d := range doubtfuls {
		t.Run(d.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, lines := range d.files {
				write(t, dir+"/"+name, []byte(strings.Join(lines, "\n")+"\n"))
			}
			c, err := Read(t.Context(), traces.Options{}, dir)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			sum, told := agenttest.Total(c), problems(c)
			want := agenttest.Sum{Calls: d.calls, Uncached: d.bill.Uncached, Read: d.bill.Read, Written: d.bill.Writes(), Answered: d.bill.Output}
			if sum != want {
				t.Errorf("%+v, want %+v", sum, want)
			}
			if strings.Count(told, "\n") != len(d.told) {
				t.Errorf("%d lines are told, want %d:\n%s", strings.Count(told, "\n"), len(d.told), told)
			}
			for _, part := range d.told {
				if !strings.Contains(told, part) {
					t.Errorf("told:\n%s, want %s", told, part)
				}
			}
		})
	}
}

// A version of a format that nobody has seen is told in one line, and read as the one that is known.
func TestUnknownVersions(t *testing.T) {
	for name, versions := range map[string][2]string{
		facts.Copilot: {`"producer":"copilot-agent"`, `"version":9`}, facts.DSH: {`"version":0`, `"version":9`},
		facts.Cline: {`"version":1`, `"version":9`}, facts.ATIF: {"ATIF-v1.7", "ATIF-v1.9"},
	} {
		known := agenttest.Sample(name, "s", 1)
		text := strings.Replace(known, versions[0], versions[1], 1)
		var sums []agenttest.Sum
		for _, text := range []string{known, text} {
			dir := folder(t, map[string][]string{"a.json": {strings.TrimSuffix(text, "\n")}})
			c, err := Read(t.Context(), traces.Options{}, dir+"/a.json")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			sums = append(sums, agenttest.Total(c))
			told := problems(c)
			if lines := strings.Count(told, "as which it is read") + strings.Count(told, "is not known; it is read as version"); text == known && lines != 0 || text != known && lines != 1 {
				t.Errorf("%s: told\n%s", name, told)
			}
		}
		if text == known || sums[0] != sums[1] || sums[0].Calls < 6 {
			t.Errorf("%s: %+v, want %+v", name, sums[1], sums[0])
		}
	}
}

// uncounted takes all counts of calls out of a recording.
var uncounted = regexp.MustCompile(`,?"(metrics|tokens|usage|modelMetrics|outputTokens|compactionTokensUsed)":(\{([^{}]|\{[^{}]*(\{[^{}]*\})?[^{}]*\})*\}|\d+)|,?\{"key":"gen_ai\.usage\.[a-z_.]*","value":\{[^{}]*\}\}`)

// A log without usage is named and left out. With --estimate each reply is a call whose size is what was said, and nothing is in the bill.
func TestNoUsage(t *testing.T) {
	for _, name := range byAgent {
		text := strings.ReplaceAll(uncounted.ReplaceAllString(agenttest.Sample(name, "s", 1), ""), "[,", "[")
		dir := folder(t, map[string][]string{"a.json": {strings.TrimSuffix(strings.ReplaceAll(text, "{,", "{"), "\n")}})
		c, err := Read(t.Context(), traces.Options{}, dir+"/a.json")
		if !errors.Is(err, traces.ErrNoSessions) || strings.Count(problems(c), "--estimate") != 1 {
			t.Errorf("%s: %v, problems\n%s", name, err, problems(c))
		}
		c, err = Read(t.Context(), traces.Options{Estimate: true}, dir+"/a.json")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		least, rounds := 12, 0
		if name == facts.Cline { // a compaction took half the calls out
			least = 6
		}
		for i := range c.Sessions[0].Threads {
			for _, r := range c.Sessions[0].Threads[i].Rounds {
				if rounds++; r.Usage.Input() > 0 {
					t.Errorf("%s: a bill of %+v", name, r.Usage)
				}
			}
		}
		if rounds < least {
			t.Errorf("%s: %d calls, want %d", name, rounds, least)
		}
		c.Close()
	}
}

// problems returns what is told of a corpus and its sessions as lines.
func problems(c *traces.Corpus) string {
	list := c.Problems
	for _, s := range c.Sessions {
		for _, p := range s.Problems {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}
