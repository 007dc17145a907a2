package studies

import (
	"math"
	"strconv"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/results"
)

// Finding is a claim of a document with the result of its simulation.
type Finding struct {
	ID       string   `json:"id"`
	Claim    string   `json:"claim"`
	Source   string   `json:"source"`   // document and line
	Scenario string   `json:"scenario"` // scenario that tests it
	Without  []string `json:"without"`  // settings that take away what the verdict rests on
	Figures  []Figure `json:"figures"`
	Reason   string   `json:"reason"`
}

// Figure is a simulated value.
type Figure struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`             // one of Unit…
	Claimed string  `json:"claimed,omitzero"` // what the document says of it, in words; may be empty
	Holds   bool    `json:"holds"`            // the claim is true
	// Without is the value with the settings that remove the mechanism, nil if
	// there is none; WithoutHolds says whether it is as claimed.
	Without      *float64 `json:"without"`
	WithoutHolds bool     `json:"without_holds"`
	// Otherwise is what the document says of that value; may be empty.
	Otherwise      string `json:"otherwise,omitzero"`
	OtherwiseHolds bool   `json:"otherwise_holds,omitzero"`
	// Hand is the calculation by hand, with its value and the largest allowed
	// difference from the simulation; may be empty.
	Hand      string  `json:"hand,omitzero"`
	ByHand    float64 `json:"by_hand,omitzero"`
	Tolerance float64 `json:"tolerance,omitzero"`
}

// Agrees reports whether the figure agrees with the calculation by hand; true
// without one.
func (f *Figure) Agrees() bool { return f.Hand == "" || math.Abs(f.Value-f.ByHand) <= f.Tolerance }

// Verdict is the outcome of a claim.
type Verdict uint8

// Verdicts.
const (
	Refuted Verdict = iota
	Partly
	Reproduced
)

// String returns the lower-case name used in reports.
func (v Verdict) String() string {
	return [...]string{"refuted", "partly", "reproduced"}[min(v, Reproduced)]
}

// Verdict returns Reproduced when every figure is as the document says, Refuted
// when none is.
func (f *Finding) Verdict() Verdict {
	claimed, hold := 0, 0
	for i := range f.Figures {
		x := &f.Figures[i]
		for _, is := range [...]struct {
			said  string
			holds bool
		}{{x.Claimed, x.Holds}, {x.Otherwise, x.OtherwiseHolds}} {
			if is.said == "" {
				continue
			}
			if claimed++; is.holds {
				hold++
			}
		}
	}
	return verdict(hold, claimed)
}

// VerdictWithout returns the verdict on the figures without the mechanism.
func (f *Finding) VerdictWithout() Verdict {
	claimed, hold := 0, 0
	for i := range f.Figures {
		if f.Figures[i].Claimed == "" {
			continue
		}
		if claimed++; f.Figures[i].WithoutHolds {
			hold++
		}
	}
	return verdict(hold, claimed)
}

func verdict(hold, claimed int) Verdict {
	switch hold {
	case 0:
		return Refuted
	case claimed:
		return Reproduced
	}
	return Partly
}

// Text returns the value with its unit, for people.
func (f *Figure) Text() string { return f.text(f.Value) }

// WithoutText returns the value without the mechanism with its unit.
func (f *Figure) WithoutText() string {
	if f.Without == nil {
		return "none"
	}
	return f.text(*f.Without)
}

// HandText returns the value worked out by hand with its unit.
func (f *Figure) HandText() string { return f.text(f.ByHand) }

func (f *Figure) text(v float64) string {
	switch f.Unit {
	case results.UnitUSD:
		return usdText(v)
	case results.UnitRatio:
		decimals := 1
		if v != 0 && math.Abs(v) < 0.01 {
			decimals = 2
		}
		return strconv.FormatFloat(100*v, 'f', decimals, 64) + " %"
	case results.UnitSeconds:
		return strconv.FormatFloat(v, 'f', 1, 64) + " s"
	case results.UnitCount, "":
		return thousands(v)
	}
	if v == 1 && f.Unit == results.UnitCalls {
		return "1 call"
	}
	return thousands(v) + " " + f.Unit
}

// usdText keeps at least three significant digits.
func usdText(v float64) string {
	if v == 0 {
		return "$0"
	}
	decimals := 2
	for abs := math.Abs(v); decimals < 6 && abs < 1; abs *= 10 {
		decimals++
	}
	return document.USD(v, decimals)
}

func thousands(v float64) string { return document.Grouped(math.Round(v), 0) }
