package agents

import (
	"testing"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
)

// BenchmarkIngest reads a session of 200 calls, whose tools give 8 kB each, in the form of each agent.
func BenchmarkIngest(b *testing.B) {
	for _, name := range agenttest.Agents() {
		b.Run(name, func(b *testing.B) {
			agenttest.Bench(b, Of(name), agenttest.Long(name))
		})
	}
}
