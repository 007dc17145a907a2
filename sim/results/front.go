package results

import (
	"math"

	"github.com/compactsim/compactsim/sim/results/recall"
)

// Front is what the best schedules of full compaction reach in cost and recall for a
// known future, and bounds that none passes. Its points are by price of a lost need.
type Front struct {
	// Needs is the weight of what later actions use, 1 for a need found in one block.
	Needs  float64      `json:"needs"`
	Points []FrontPoint `json:"points"`
}

// FrontPoint is the best that can be reached when a lost need of weight 1 costs Price.
type FrontPoint struct {
	Price float64 `json:"price_usd"`
	// Below is a lower bound, USD, of any schedule's cost plus the price of its loss.
	Below float64 `json:"below_usd"`
	// CostUSD and Recall belong to the schedule found for the price, as simulated.
	CostUSD float64 `json:"cost_usd"`
	Recall  float64 `json:"needed_recall"`
}

// Add adds the point of total, which is the sum of the rows.
func (f *Front) Add(price, below float64, total *Row) {
	t := needsOf(total).Total()
	f.Needs = t[recall.Weight] / 1000
	f.Points = append(f.Points, FrontPoint{Price: price, Below: below, CostUSD: total.CostUSD(),
		Recall: t.Kept() / max(1, t[recall.Weight])})
}

// Least returns the cost below which no schedule reaches recall, USD: at every price,
// cost and the price of what is lost are at least Below.
func (f *Front) Least(recall float64) float64 {
	least := math.Inf(-1)
	for _, p := range f.Points {
		least = max(least, p.Below-p.Price*(1-recall)*f.Needs)
	}
	return least
}
