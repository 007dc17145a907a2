package main

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/compactsim/compactsim/tools/tests/scenariostest"
)

// An audit of sessions that a store has is kept there: asked again, with a context in which nothing can be simulated, it is the
// same to the last figure. Another zone of the same name, another period and fewer sessions ask anew.
func TestAuditIsKept(t *testing.T) {
	t.Parallel()
	prices := scenariostest.Prices(t)
	c, kept := scenariostest.Stored(t, scenariostest.Made(t, 3))
	c.Keep(kept, nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var f auditFlags
	f.read.choice.zone = time.FixedZone("Local", 3600)
	first, err := f.reportOn(t.Context(), c, prices)
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.reportOn(gone, c, prices)
	if err != nil {
		t.Fatalf("the audit is not kept: %v", err)
	}
	if !reflect.DeepEqual(first, again) {
		t.Error("a kept audit is another audit")
	}
	f.read.choice.zone = time.FixedZone("Local", -3600)
	if _, err := f.reportOn(gone, c, prices); err == nil {
		t.Error("an audit in another zone was taken for it")
	}
	f.read.choice.zone = time.FixedZone("Local", 3600)
	f.read.Filter.Since = time.Unix(1, 0)
	if _, err := f.reportOn(gone, c, prices); err == nil {
		t.Error("an audit of another period was taken for it")
	}
	f.read.Filter.Since = time.Time{}
	c.Sessions = c.Sessions[1:]
	if _, err := f.reportOn(gone, c, prices); err == nil {
		t.Error("an audit of more sessions was taken for it")
	}
}

// The key of a zone ends for every zone, also where a rule for all years gives the last days of a leap year no end, and tells zones apart.
func TestZoneKey(t *testing.T) {
	keys := map[string]string{}
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "Africa/Casablanca"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skip(err)
		}
		done := make(chan string)
		go func() { done <- zoneKey(zone) }()
		var key string
		select {
		case key = <-done: // within a millisecond
		case <-time.After(time.Minute):
			t.Fatalf("the key of %s does not end", name)
		}
		if other := keys[key]; other != "" || key != zoneKey(zone) {
			t.Errorf("%s has the key of %q", name, other)
		}
		keys[key] = name
	}
}
