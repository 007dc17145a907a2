package agenttest

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/traces"
)

// samples has a session in the form of each agent. {id} stands for the session's id, {tag} for what names its lines and
// calls, and {300.7} for the seventh text, of 300 bytes.
//
//go:embed samples/*.jsonl
var samples embed.FS

// Agents returns the names of all agents that have samples.
func Agents() []string {
	return []string{
		traces.AgentClaudeCode, traces.AgentCodex, traces.AgentOpenCode, traces.AgentPi, traces.AgentGemini, traces.AgentCopilot,
		traces.AgentDSH, traces.AgentCline, traces.AgentOTel, traces.AgentRequests, traces.AgentATIF,
	}
}

// Sample returns a session in the format of an agent: several prompts, each
// answered in several calls with tools between them, and a compaction. The same
// agent, id and seed give the same bytes; the texts and names of different seeds have
// nothing in common. Every line, or message, is a line of the file.
func Sample(agent, id string, seed uint64) string { return sample(agent, id, seed, 1) }

// Long returns a session whose texts are 25 times as long, in lines, for benchmarks.
func Long(agent string) string { return sample(agent, "long", 1, 25) }

var placed = regexp.MustCompile(`\{(\d+)\.(\d+)\}`)

// sample fills in the sample of an agent, with texts so many times as long.
func sample(agent, id string, seed uint64, times int) string {
	b, err := samples.ReadFile("samples/" + agent + ".jsonl")
	if err != nil {
		panic(err) // the names are constants
	}
	text := strings.NewReplacer("{id}", id, "{tag}", fmt.Sprintf("%s%d", id, seed)).Replace(string(b))
	return placed.ReplaceAllStringFunc(text, func(place string) string {
		m := placed.FindStringSubmatch(place)
		size, _ := strconv.Atoi(m[1]) // both are digits
		nth, _ := strconv.ParseUint(m[2], 10, 64)
		words := rand.New(rand.NewPCG(seed, nth))
		var b strings.Builder
		for range times {
			for end := b.Len() + size; b.Len() < end; {
				fmt.Fprintf(&b, "%x ", words.Uint32())
			}
			b.WriteString(map[bool]string{true: `\n`}[times > 1])
		}
		return b.String()
	})
}
