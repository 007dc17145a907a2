package assembly

import "strings"

// Usual reports whether a term of service, as the interfaces of models state it, is the usual one,
// which has the listed prices.
func Usual(term string) bool {
	switch term {
	case "", "standard", "default", "auto", "normal", "not_available", "global":
		return true
	}
	return false
}

// Served returns the name of a model with the terms that a call was served under, such as its speed,
// where they are not the usual ones, each as "[fast]": they have prices of their own. A window of a
// million tokens stays last.
func Served(model string, terms ...string) string {
	model, large := strings.CutSuffix(model, "[1m]")
	for _, t := range terms {
		if !Usual(t) {
			model += "[" + t + "]"
		}
	}
	if large {
		model += "[1m]"
	}
	return model
}
