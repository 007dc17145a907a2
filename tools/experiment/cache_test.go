package main

import (
	"fmt"
	"testing"
	"time"
)

// blocksOf returns n blocks of size tokens whose texts are their numbers; blocks whose index is in at have a marker.
func blocksOf(n, size int, ttl time.Duration, at ...int) []block {
	var list []block
	for i := range n {
		list = append(list, block{text: fmt.Sprint(i), tokens: size})
	}
	for _, i := range at {
		list[i-1].ttl = ttl
	}
	return list
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// The worked example of the provider's page: entries behind blocks 10 and 15, then a request of 35 blocks, whose marker looks at
// 20 places (35 to 16) and misses the entry at 15 by one; a second marker at 15 would have hit.
func TestMarkedCacheLooksBackAtTwentyPlaces(t *testing.T) {
	for second, want := range map[bool]int{false: 0, true: 15 * 200} {
		var c markedCache
		c.bill("claude-sonnet-4-6", blocksOf(10, 200, 5*time.Minute, 10), noon)
		if u := c.bill("claude-sonnet-4-6", blocksOf(15, 200, 5*time.Minute, 15), noon); u.Read != 2000 || u.Write5m != 1000 {
			t.Errorf("second turn %+v, want 10 blocks read and 5 written", u)
		}
		at := []int{35}
		if second {
			at = []int{15, 35}
		}
		if u := c.bill("claude-sonnet-4-6", blocksOf(35, 200, 5*time.Minute, at...), noon); u.Read != want || u.prompt() != 35*200 {
			t.Errorf("third turn %+v, want %d read of %d", u, want, 35*200)
		}
	}
}

// An entry lives for five minutes after its last use, an hour's for an hour; with markers of both kinds the tokens up to the
// last of an hour are billed as an hour's, and what is behind the last marker as plain input.
func TestMarkedCacheLifetimesAndClasses(t *testing.T) {
	var c markedCache
	list := blocksOf(10, 300, 5*time.Minute, 9)
	list[4].ttl = time.Hour
	if u := c.bill("claude-sonnet-4-6", list, noon); u != (usage{Uncached: 300, Write5m: 1200, Write1h: 1500}) {
		t.Errorf("first call %+v", u)
	}
	for _, step := range []struct {
		after   time.Duration
		read    int
		comment string
	}{{4 * time.Minute, 2700, "within"}, {8 * time.Minute, 2700, "refreshed"}, {14 * time.Minute, 1500, "five minutes are over, the hour is not"}, {90 * time.Minute, 0, "all over"}} {
		if u := c.bill("claude-sonnet-4-6", list, noon.Add(step.after)); u.Read != step.read {
			t.Errorf("%s: %+v, want %d read", step.comment, u, step.read)
		}
	}
}

// Below the model's minimum nothing is read or written.
func TestMarkedCacheMinimum(t *testing.T) {
	for model, want := range map[string]int{"claude-sonnet-4-6": 1500, "claude-opus-4-7": 0} {
		var c markedCache
		list := blocksOf(5, 300, 5*time.Minute, 5)
		c.bill(model, list, noon)
		if u := c.bill(model, list, noon); u.Read != want {
			t.Errorf("%s reads %d of 1500 tokens, want %d", model, u.Read, want)
		}
	}
}

// Reads come in steps of 128 tokens, and none below 1,024.
func TestChunkedCacheSteps(t *testing.T) {
	for total, want := range map[int]int{1000: 0, 1024: 1024, 1151: 1024, 1152: 1152} {
		var c chunkedCache
		c.idle = time.Hour
		list := blocksOf(1, total, 0)
		c.bill("gpt-5.5", "k", list, noon)
		if u := c.bill("gpt-5.5", "k", append(list, block{text: "more", tokens: 500}), noon); u.Read != want || u.prompt() != total+500 {
			t.Errorf("%d tokens sent again: %+v, want %d read", total, u, want)
		}
		if u := c.bill("gpt-5.5", "another", list, noon); u.Read != 0 {
			t.Errorf("another key reads %d", u.Read)
		}
	}
}
