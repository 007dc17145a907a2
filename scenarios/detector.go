package scenarios

import "github.com/compactsim/compactsim/internal/breaks"

// Detector is breaks.Rules with names for people.
type Detector struct {
	MinDrop         int64   `yaml:"min_drop" needs:"breaks"`  // tokens
	MinShare        float64 `yaml:"min_share" needs:"breaks"` // 0…1
	DeletedBaseline bool    `yaml:"deleted_baseline" needs:"cached-microcompact"`
}

// Rules returns the settings as the loop takes them.
func (d *Detector) Rules() *breaks.Rules {
	return &breaks.Rules{MinDrop: d.MinDrop, MinShare: d.MinShare, DeletedBaseline: d.DeletedBaseline}
}

func defaultDetector() Detector { return Detector(breaks.DefaultRules()) }

// validateDetector reports thresholds that no detector can have.
func (x *expansion) validateDetector(d *Detector) {
	for _, err := range d.Rules().Validate() {
		x.contradiction("detector: "+err.Error(), "detector")
	}
}
