package main

import (
	"slices"
	"strings"
	"testing"
)

// What a person has set for builds of their own does not reach a release: of
// several values of a variable the last counts.
func TestEnvironment(t *testing.T) {
	mine := []string{"HOME=/h", "GOAMD64=v3", "GOARM64=v9.0,lse", "GOEXPERIMENT=arenas", "GOFLAGS=-race", "GOFIPS140=latest", "GOWORK=/w", "GOOS=plan9"}
	all := environment(slices.Clone(mine), "linux", "arm64")
	value := map[string]string{}
	for _, v := range all {
		name, set, _ := strings.Cut(v, "=")
		value[name] = set
	}
	for name, want := range map[string]string{
		"HOME": "/h", "GOAMD64": "v1", "GOARM64": "v8.0", "GOEXPERIMENT": "", "GOFLAGS": "", "GOFIPS140": "off", "GOWORK": "off", "GOENV": "off",
		"GOOS": "linux", "GOARCH": "arm64", "CGO_ENABLED": "0",
	} {
		if got, ok := value[name]; !ok || got != want {
			t.Errorf("%s=%q, want %q", name, got, want)
		}
	}
}
