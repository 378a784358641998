package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// UCXRun is a run of ucx_perftest, between two processes of this host.
type UCXRun struct {
	Test  string // such as tag_lat, tag_bw, ucp_am_lat
	Size  int    // of a message, in bytes
	Iters int
}

// UCXResult is what it says.
type UCXResult struct {
	// Median is of the times of an iteration, in microseconds: of tag_lat and the
	// like half a round trip.
	Median float64
	// Rate is messages a second, over all.
	Rate float64
}

// ucxTransports are shared memory, without a kernel's help to copy.
const ucxTransports = "UCX_TLS=posix,self"

// Run runs it. It is polling that waits.
func (r UCXRun) Run(ctx context.Context, dir string) (UCXResult, error) {
	program, err := Find("ucx_perftest")
	if err != nil {
		return UCXResult{}, err
	}
	port, err := freePort()
	if err != nil {
		return UCXResult{}, err
	}
	start := func(args ...string) (*Process, error) {
		cmd := exec.Command(program, append([]string{"-p", port}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), ucxTransports, "UCX_LOG_LEVEL=error")
		return Start(cmd)
	}
	server, err := start()
	if err != nil {
		return UCXResult{}, err
	}
	defer server.Stop()
	return r.client(ctx, start)
}

// client runs the client, again as long as the server does not listen yet.
func (r UCXRun) client(ctx context.Context, start func(...string) (*Process, error)) (UCXResult, error) {
	for try := 0; ; try++ {
		client, err := start("127.0.0.1", "-f", "-v", "-t", r.Test, "-s", strconv.Itoa(r.Size), "-n", strconv.Itoa(r.Iters))
		if err != nil {
			return UCXResult{}, err
		}
		err = client.WaitEnd(ctx)
		client.Stop()
		if err == nil {
			return parseUCX(client.Output())
		}
		if ctx.Err() != nil || try == ucxTries {
			return UCXResult{}, err
		}
		select {
		case <-time.After(ucxPause):
		case <-ctx.Done():
		}
	}
}

// A server of ucx_perftest does not tell in time when it listens.
const (
	ucxTries = 100
	ucxPause = 50 * time.Millisecond
)

// freePort is a TCP port that nobody has now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// parseUCX reads the last line of comma-separated values: iterations, times
// (median, average, overall), bandwidths and rates (average, overall of each).
func parseUCX(out string) (r UCXResult, err error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	fields := strings.Split(lines[len(lines)-1], ",")
	if len(fields) != 8 {
		return r, fmt.Errorf("ucx_perftest wrote %q, want 8 values", lines[len(lines)-1])
	}
	if r.Median, err = strconv.ParseFloat(strings.TrimSpace(fields[1]), 64); err != nil {
		return UCXResult{}, fmt.Errorf("ucx_perftest: median: %w", err)
	}
	if r.Rate, err = strconv.ParseFloat(strings.TrimSpace(fields[7]), 64); err != nil {
		return UCXResult{}, fmt.Errorf("ucx_perftest: rate: %w", err)
	}
	return r, nil
}
