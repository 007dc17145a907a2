package main

import (
	"os"
	"strconv"
	"time"
)

// torture returns how long each of the long tests runs, as make torture asks by TORTURE (seconds);
// 0 for their short forms.
func torture() time.Duration {
	seconds, _ := strconv.Atoi(os.Getenv("TORTURE")) // none is 0
	return time.Duration(seconds) * time.Second
}
