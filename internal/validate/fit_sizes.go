package validate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/traces"
)

const (
	huberRounds = 20
	huberTokens = 100 // residuals beyond it weigh less, tokens
)

// robust solves rows·c = y by iteratively reweighted least squares and returns
// the coefficients and their standard errors.
func robust(rows [][]float64, y []float64) (c, errs []float64, ok bool) {
	if len(rows) == 0 || len(rows) < 10*len(rows[0]) {
		return nil, nil, false
	}
	k := len(rows[0])
	w := make([]float64, len(rows))
	for i := range w {
		w[i] = 1
	}
	var inverse mat.SymDense
	for range huberRounds {
		a, b := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
		for i, row := range rows {
			for p := range k {
				b.SetVec(p, b.AtVec(p)+w[i]*row[p]*y[i])
				for q := p; q < k; q++ {
					a.SetSym(p, q, a.At(p, q)+w[i]*row[p]*row[q])
				}
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(a) {
			return nil, nil, false
		}
		var x mat.VecDense
		if chol.SolveVecTo(&x, b) != nil || chol.InverseTo(&inverse) != nil {
			return nil, nil, false
		}
		c = x.RawVector().Data
		for i, row := range rows {
			w[i] = min(1, huberTokens/max(1e-9, math.Abs(y[i]-dot(row, c))))
		}
	}
	var ss float64
	for i, row := range rows {
		d := y[i] - dot(row, c)
		ss += w[i] * d * d
	}
	for p := range k {
		errs = append(errs, math.Sqrt(ss/float64(len(rows)-k)*inverse.At(p, p)))
	}
	return c, errs, true
}

func dot(a, b []float64) float64 {
	var s float64
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// fitTalk returns how long people think, tools run and responses are.
func fitTalk(sessions []*traces.Session) profile.Talk {
	var think, tool, output []float64
	for _, s := range sessions {
		for i := range s.Threads {
			for r := range s.Threads[i].Rounds {
				rd := &s.Threads[i].Rounds[r]
				output = append(output, float64(rd.Usage.Output))
				switch {
				case r == 0 || rd.Flags&traces.RoundNoTime != 0:
				case rd.Trigger == traces.TriggerPrompt:
					think = append(think, float64(rd.Wait)/1e9)
				case rd.Trigger == traces.TriggerToolResult:
					tool = append(tool, float64(rd.Wait)/1e9)
				}
			}
		}
	}
	return profile.Talk{Think: median(think), Tool: median(tool), Output: median(output)}
}

// wilson returns a share with its 95 % interval (Wilson 1927).
func wilson(k, n int) profile.Estimate {
	if n == 0 {
		return profile.Estimate{High: 1}
	}
	e := proportion(float64(k), float64(n))
	e.N = n
	return e
}

// proportion is wilson of counts that need not be whole; n must be positive.
func proportion(k, n float64) profile.Estimate {
	const z = 1.96
	p := k / n
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	d := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return profile.Estimate{Value: round(p, 4), Low: round(max(0, mid-d), 4), High: round(min(1, mid+d), 4)}
}

// median returns the type-7 median with the 95 % interval of order statistics:
// ranks n/2 ∓ 1.96·√n/2.
func median(x []float64) profile.Estimate {
	if len(x) == 0 {
		return profile.Estimate{}
	}
	x = slices.Clone(x)
	slices.Sort(x)
	n := float64(len(x))
	d := 0.98 * math.Sqrt(n)
	low, high := int(math.Floor(n/2-d)), int(math.Ceil(n/2+d))
	return profile.Estimate{
		Value: round(quantile(x, 0.5), 3), Low: round(x[max(0, low)], 3), High: round(x[min(len(x)-1, high)], 3), N: len(x),
	}
}

func round(x float64, decimals int) float64 {
	f := math.Pow10(decimals)
	return math.Round(x*f)/f + 0 // never −0
}
