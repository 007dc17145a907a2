// Package profile reads what is fitted from recordings and documented nowhere: how
// large the static prefix of a client is, how long entries really live, which
// calls a client makes that no log shows. Every number carries its sample size
// and an interval.
package profile

import "github.com/compactsim/compactsim/internal/profile"

// Profile holds the fitted values. Its fields are the keys of a profile's file.
type Profile = profile.Profile

// Default returns the profile that comes with the program. The caller may change
// its fields, but not what its lists hold.
func Default() (*Profile, error) { return profile.Default() }

// Parse reads a profile strictly, in the form that sim calibrate writes. Errors give name
// and the line.
func Parse(text []byte, name string) (*Profile, error) { return profile.Parse(text, name) }
