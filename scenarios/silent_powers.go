package scenarios

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/strategies"
)

// powers are what the layers of a run can do that settings act on.
type powers struct {
	calls   bool     // they make calls, by the request or beside it
	draws   bool     // they leave something to chance
	foreign bool     // some are not of this program, so that nothing is known of them
	layers  bool     // there are some beside recorded
	models  []string // that they name
	asks    []string // lifetimes that they name
	ways    []string // of making a summary call
}

// drawless are the layers that leave nothing to chance and ask no summariser.
var drawless = []string{
	strategies.RecordedName, strategies.TruncateName, strategies.MicrocompactName, strategies.TimeClearName, strategies.CachedClearName,
	strategies.APIContextName, strategies.ServerHintName, strategies.KeepaliveName, strategies.MessagesName,
}

// drawing are the other layers of this program.
var drawing = []string{
	strategies.CompactName, strategies.SessionMemoryName, strategies.ToolStorageName, strategies.MemoryName, strategies.DreamName,
	strategies.SuggestionName, strategies.SpeculationName, strategies.AgentsName, strategies.AgentSummaryName,
}

// add takes what the layers of a strategy can do.
func (p *powers) add(s *strategies.Strategy) error {
	for _, l := range s.Layers() {
		if l.Name() == strategies.RecordedName {
			continue
		}
		_, waits := l.(strategies.IntentResult)
		_, beside := l.(strategies.BackgroundResult)
		p.layers, p.calls = true, p.calls || waits || beside
		draws := !slices.Contains(drawless, l.Name())
		p.draws = p.draws || draws
		p.foreign = p.foreign || draws && !slices.Contains(drawing, l.Name())
	}
	return nil
}

// name takes what the parameters of a layer name.
func (p *powers) name(params *yaml.Node) {
	for i := 0; params.Kind == yaml.MappingNode && i+1 < len(params.Content); i += 2 {
		switch key, n := params.Content[i].Value, params.Content[i+1]; {
		case n.Kind == yaml.MappingNode:
			p.name(n)
		case key == "model" && n.Value != "":
			p.models = append(p.models, n.Value)
		case key == "lifetime" && n.Value != lifetimeOfClient:
			p.asks = append(p.asks, n.Value)
		case key == "call":
			for _, way := range n.Content {
				p.ways = append(p.ways, way.Value)
			}
		}
	}
}

// lifetimeOfClient is what a layer names that leaves the lifetime to the client.
const lifetimeOfClient = "client"

// names reports whether a layer names a lifetime, 5m or 1h.
func (p *powers) names(choice string) bool { return slices.Contains(p.asks, choice) }
