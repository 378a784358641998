package peer

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// onSim has a program find a node of a simulated subnet instead of devices. It
// runs in dir, where the preloaded library writes.
func onSim(program string, args []string, dir, socketName, node string) (*exec.Cmd, error) {
	path, err := Find(program)
	if err != nil {
		return nil, err
	}
	library, err := FindPreload()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "IBSIM_SOCKNAME="+socketName, "SIM_HOST="+node)
	return cmd, nil
}

// Diag runs one of infiniband-diags' programs at a node of a simulated subnet
// to its end and returns its standard output, also where it fails. The node is
// an ID or a description, "" the first of the subnet. Each call needs a
// directory of its own.
func Diag(ctx context.Context, dir, socketName, node, program string, args ...string) (string, error) {
	cmd, err := onSim(program, args, dir, socketName, node)
	if err != nil {
		return "", err
	}
	p, err := Start(cmd)
	if err != nil {
		return "", err
	}
	defer p.Stop()
	err = p.WaitEnd(ctx)
	return p.Output(), err
}

// OpenSM is a running OpenSM.
type OpenSM struct {
	*Process
	// Dir is where it keeps its dumps and its cache.
	Dir string
}

// StartOpenSM starts Debian's OpenSM at a node of a simulated subnet, in a
// directory of its own. Each of the options is a line of its configuration
// file: "sweep_interval 1". There must be a server at the sockets, or it waits
// for one forever.
func StartOpenSM(dir, socketName, node string, options ...string) (*OpenSM, error) {
	conf := filepath.Join(dir, "opensm.conf")
	lines := append([]string{
		"log_file stdout", "force_log_flush TRUE", "dump_files_dir " + dir, "daemon FALSE", "console off",
	}, options...)
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return nil, err
	}
	cmd, err := onSim("opensm", []string{"-F", conf}, dir, socketName, node)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, "OSM_CACHE_DIR="+dir, "OSM_TMP_DIR="+dir)
	p, err := Start(cmd)
	if err != nil {
		return nil, err
	}
	return &OpenSM{p, dir}, nil
}

// WaitSubnetUp waits for the end of a sweep that programmed the subnet.
func (sm *OpenSM) WaitSubnetUp(ctx context.Context) error {
	_, err := sm.Wait(ctx, "SUBNET UP")
	return err
}
