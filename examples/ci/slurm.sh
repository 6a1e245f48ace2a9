#!/bin/sh
# `./slurm.sh submit` in a checkout on a file system that all nodes share.
#SBATCH --job-name=schedcheck
#SBATCH --cpus-per-task=4
#SBATCH --time=12:00:00
set -e

case "$1" in
submit)
    cargo schedcheck archive tests.tar.gz
    parts=$(sbatch --parsable --array=0-3 "$0" explore)
    sbatch --dependency="afterok:$parts" "$0" certify
    ;;
explore)
    # SLURM_ARRAY_TASK_ID, _MIN and _COUNT come with --array.
    cargo-schedcheck schedcheck --archive tests.tar.gz --preset nightly --skip long_ \
        --partition hash:auto \
        --trend "trend-$SLURM_ARRAY_TASK_ID.jsonl" \
        --certificate "certificate-$SLURM_ARRAY_TASK_ID.toml"
    # Tests that take long are divided themselves. One that is cut off goes on when it is submitted again.
    cargo-schedcheck schedcheck --archive tests.tar.gz --preset nightly --max-time 5h \
        --shard auto --checkpoints parts --resume long_
    ;;
certify)
    cargo schedcheck merge --archive tests.tar.gz --checkpoints parts
    cargo schedcheck --archive tests.tar.gz --preset nightly \
        --checkpoints parts --resume --certificate long.toml long_
    cargo schedcheck verify-certificate long.toml
    cargo schedcheck verify-certificate --whole certificate-*.toml
    ;;
esac
