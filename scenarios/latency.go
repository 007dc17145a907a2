package scenarios

import (
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
)

// Latency is costmodel.Latency with names for people.
type Latency struct {
	Base       Duration `yaml:"base"`
	PerFresh   Duration `yaml:"per_fresh_token"`
	PerCached  Duration `yaml:"per_cached_token"`
	OutputRate float64  `yaml:"output_rate"` // tokens per second
}

// Model returns the settings as the loop takes them.
func (l *Latency) Model() costmodel.Latency {
	return costmodel.Latency{
		Base: time.Duration(l.Base), PerFresh: time.Duration(l.PerFresh), PerCached: time.Duration(l.PerCached), OutputRate: l.OutputRate,
	}
}

func defaultLatency() Latency {
	l := costmodel.DefaultLatency()
	return Latency{Base: Duration(l.Base), PerFresh: Duration(l.PerFresh), PerCached: Duration(l.PerCached), OutputRate: l.OutputRate}
}

// Levels are sim.Levels with names for people; sizes are tokens.
type Levels struct {
	Warning  int64 `yaml:"warning"`
	Error    int64 `yaml:"error"`
	Blocking int64 `yaml:"blocking"`
	Output   int64 `yaml:"output_reserve"`
	Block    Block `yaml:"block"`
}

// Levels returns the settings as the loop takes them.
func (l *Levels) Levels() sim.Levels {
	return sim.Levels{Warning: l.Warning, Error: l.Error, Blocking: l.Blocking, Output: l.Output, Block: sim.Block(l.Block)}
}

func defaultLevels() Levels {
	l := sim.DefaultLevels()
	return Levels{Warning: l.Warning, Error: l.Error, Blocking: l.Blocking, Output: l.Output, Block: Block(l.Block)}
}

// Block is a sim.Block, written off, compact or end.
type Block sim.Block

var blockNames = []string{sim.BlockOff: "off", sim.BlockCompact: "compact", sim.BlockEnd: "end"}

// UnmarshalYAML reads a block by name.
func (b *Block) UnmarshalYAML(n *yaml.Node) error { return choose(b, n, blockNames) }

// MarshalYAML writes the name.
func (b Block) MarshalYAML() (any, error) { return nameOf(int(b), blockNames) }

// validateLatency reports times and levels that no client and server have.
func (x *expansion) validateLatency(s *Scenario) {
	m := s.Latency.Model()
	for _, err := range m.Validate() {
		x.contradiction("latency: "+err.Error(), "latency")
	}
	v := s.Levels.Levels()
	for _, err := range v.Validate() {
		x.contradiction("levels: "+err.Error(), "levels")
	}
}
