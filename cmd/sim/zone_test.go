package main

import (
	"testing"
	"time"
)

// The key of a zone ends for every zone, also where a rule for all years gives the last days of a leap year no end, and tells zones apart.
func TestZoneKey(t *testing.T) {
	keys := map[string]string{}
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "Africa/Casablanca"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skip(err)
		}
		key := zoneKey(zone)
		if other := keys[key]; other != "" || key != zoneKey(zone) {
			t.Errorf("%s has the key of %q", name, other)
		}
		keys[key] = name
	}
}
