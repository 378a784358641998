package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"heddle/fabric"
	"heddle/internal/peer"
)

// server is a kind of emulated subnet.
type server struct {
	name  string
	start func(ctx context.Context, s *stage, dir, socketName string) (*peer.Process, error)
}

// servers are those that are compared, heddle's first.
func (e *Emu) servers() []server {
	list := []server{{"heddle", startEmu}}
	if e.Peer {
		list = append(list, server{"ibsim", startIBSim})
	}
	return list
}

// running is a server that serves, in a directory of its own.
type running struct {
	*peer.Process
	socketName string
	dir        string
}

// Stop ends the server and removes its directory.
func (r *running) Stop() {
	r.Process.Stop()
	os.RemoveAll(r.dir) //nolint:errcheck // what stays goes with that of the stage
}

// start starts a server.
func (s *stage) start(ctx context.Context, v server) (*running, error) {
	s.sockets++
	r := &running{socketName: fmt.Sprintf("heddle-bench-%d-%d", os.Getpid(), s.sockets)}
	var err error
	if r.dir, err = os.MkdirTemp(s.dir, v.name); err != nil {
		return nil, err
	}
	r.Process, err = v.start(ctx, s, r.dir, r.socketName)
	return r, err
}

func startIBSim(ctx context.Context, s *stage, dir, socketName string) (*peer.Process, error) {
	sim, err := peer.StartIBSim(ctx, dir, s.netFile, socketName, limits(s.fabric)...)
	if err != nil {
		return nil, err
	}
	return sim.Process, nil
}

// limits are the arguments of ibsim for a fabric. Less than ibsim's defaults,
// which are those here, must not be.
func limits(f *fabric.Fabric) []string {
	nodes, switches, ports := 2048, 256, 13312
	all := 0
	for i := range f.NumNodes() {
		all += int(f.Node(fabric.NodeID(i)).NumPorts) + 1
	}
	return []string{
		"-N", strconv.Itoa(max(nodes, f.NumNodes())), "-S", strconv.Itoa(max(switches, len(f.Switches()))),
		"-P", strconv.Itoa(max(ports, all)),
	}
}

// likeIBSim are the arguments of heddle emu for a subnet that has what that of
// ibsim 0.10 has, as far as it decides how much a subnet manager has to do.
func likeIBSim() []string {
	return []string{
		"--mlids", "1024", "--lids", "30720", "--mtu", "2048", "--vls", "8",
		"--pkeys", "64", "--switch-pkeys", "64", "--enhanced-port0",
	}
}

// startEmu starts heddle emu, which writes a line when clients can attach.
func startEmu(ctx context.Context, s *stage, dir, socketName string) (*peer.Process, error) {
	args := []string{"emu", s.netFile, "--input-format", "ibsim", "--name", socketName, "--ctl", "ctl"}
	cmd := exec.Command(s.Program, append(args, likeIBSim()...)...)
	cmd.Dir = dir
	p, err := peer.Start(cmd)
	if err != nil {
		return nil, err
	}
	if _, err := p.Wait(ctx, "\n"); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}
