package profile

import "slices"

// Announced are the sizes of what clients of an epoch tell the model when a conversation
// opens: for each kind quantiles, evenly spaced from the least to the most, tokens. An epoch
// whose recordings show none has no row.
type Announced struct {
	From    string    `yaml:"from"` // first version of the epoch
	Tools   []float64 `yaml:"tools,flow" min:"0" max:"1000000"`
	Agents  []float64 `yaml:"agents,flow" min:"0" max:"1000000"`
	Servers []float64 `yaml:"servers,flow" min:"0" max:"1000000"`
	Hooks   []float64 `yaml:"hooks,flow" min:"0" max:"1000000"`
	N       int       `yaml:"samples" min:"0"`
}

// AnnouncedBy returns what clients of a version announce, nil for nothing.
func (p *Profile) AnnouncedBy(version string) *Announced {
	epoch := p.Epoch(version)
	if i := slices.IndexFunc(p.Announced, func(a Announced) bool { return a.From == epoch }); i >= 0 {
		return &p.Announced[i]
	}
	return nil
}
