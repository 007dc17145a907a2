package results

import "math"

// Front is what the best schedules of full compaction reach in cost and recall, and
// what none passes, for a known future. Its points are by price of a lost need.
type Front struct {
	// Needs is the weight of what later actions use, 1 for a need of what stands in
	// one block.
	Needs  float64      `json:"needs"`
	Points []FrontPoint `json:"points"`
}

// FrontPoint is the best that can be done where a lost need of weight 1 costs Price.
type FrontPoint struct {
	Price float64 `json:"price_usd"`
	// Below is not above cost_usd of any schedule and the price of what it loses.
	Below float64 `json:"below_usd"`
	// CostUSD, WithRefetchUSD and Recall are those of the schedule found for the
	// price, in the loop.
	CostUSD        float64 `json:"cost_usd"`
	WithRefetchUSD float64 `json:"cost_with_refetch_usd"`
	Recall         float64 `json:"needed_recall"`
}

// Add adds a point of rows that were added up.
func (f *Front) Add(price, below float64, total *Row) {
	t := total.Needs.Total()
	f.Needs = float64(t.Weight) / 1000
	f.Points = append(f.Points, FrontPoint{Price: price, Below: below, CostUSD: total.CostUSD(),
		WithRefetchUSD: total.CostUSD() + total.Needs.RefetchUSD, Recall: float64(t.Kept()) / float64(max(1, t.Weight))})
}

// Least returns the cost below which no schedule has a recall, USD: whatever the
// price, what it loses at that price is not worth more than the bound.
func (f *Front) Least(recall float64) float64 {
	least := math.Inf(-1)
	for _, p := range f.Points {
		least = max(least, p.Below-p.Price*(1-recall)*f.Needs)
	}
	return least
}
