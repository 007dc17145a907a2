package compare

import "github.com/compactsim/compactsim/sim/results"

// pricesOf returns how the prices of runs are called when they are held against each
// other: by date, or by the name of a file with the beginning of its digest, for two
// files may have one name. Files of one content are called alike. A run from before
// digests were kept has a name alone, and so have the others of that name then:
// nothing tells that they differ.
func pricesOf(inputs []Input) func(*results.Provenance) string {
	undigested := map[string]bool{} // names
	called := map[string]string{}   // by digest, what the first run calls the file
	for _, in := range inputs {
		p := &in.Run.Provenance
		if p.PricesDigest == "" {
			undigested[p.Prices] = true
		} else if called[p.PricesDigest] == "" {
			called[p.PricesDigest] = p.Prices
		}
	}
	return func(p *results.Provenance) string {
		if p.PricesDigest == "" || undigested[p.Prices] {
			return p.Prices
		}
		digest := []rune(p.PricesDigest)
		return shortened(orNone(called[p.PricesDigest])) + " (digest " + string(digest[:min(len(digest), shownDigest)]) + ")"
	}
}

// shownDigest is how much of a digest stands in a note, in characters: 32 bits of a
// hexadecimal one.
const shownDigest = 8
